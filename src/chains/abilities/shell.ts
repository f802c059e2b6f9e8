/** `shell.execute`: a program, or a line for /bin/sh, run with a clean environment and ended with all it started. */

import { spawn } from 'node:child_process';
import { abilityOutputBytesMax } from '../../core/limits.ts';
import { quoted } from '../../core/quote.ts';
import type { AbilitySettings } from '../../core/settings.ts';
import type { AbilityCall, AbilitySource } from './ability.ts';
import { onlyKnown, textIn, textsIn, wrongArgument } from './ability-args.ts';
import { AbilityError } from './ability-error.ts';
import { textValue, tooLarge } from './ability-output.ts';
import { switched } from './ability-switch.ts';
import { cleanEnvironment, type Environment, endGroup, endWithUs, lastWords } from './child-process.ts';

const name = 'shell.execute';

/** Where commands run. */
export interface ShellOptions {
  readonly cwd?: string;
  readonly env?: Environment;
}

/** The ability `shell.execute`, which is there only where `abilities.shell` of the policy is true. */
export function shellAbilities(
  { shell: isOn }: Pick<AbilitySettings, 'shell'>,
  options: ShellOptions = {},
): AbilitySource {
  const { cwd = process.cwd(), env = process.env } = options;
  const run = (call: AbilityCall) => execute(call, cwd, env);
  return switched('shell', isOn, [{ name, scope: 'agent', run }]);
}

interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Environment;
}

/** `command` with a list of `args` is a program; alone it is a line for the shell, which gets values through `env`. */
function commandOf(given: AbilityCall['args']): Command {
  onlyKnown(name, given, ['command', 'args', 'env']);
  const { command, args } = given;
  if (typeof command !== 'string' || command === '' || command.includes('\0'))
    throw wrongArgument(name, `command must be a text, got ${quoted(command)}`);
  const env = Object.fromEntries(textsIn(name, 'env', given.env));
  if (args === undefined) return { file: '/bin/sh', args: ['-c', command], env };
  if (!Array.isArray(args)) throw wrongArgument(name, `args must be a list, got ${quoted(args)}`);
  return { file: command, args: args.map((one, at) => textIn(name, `args[${at}]`, one)), env };
}

async function execute(call: AbilityCall, cwd: string, env: Environment): Promise<unknown> {
  const { signal } = call;
  const command = commandOf(call.args);
  signal.throwIfAborted();
  const child = spawn(command.file, command.args, {
    cwd,
    env: cleanEnvironment(env, command.env),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  endWithUs(child);
  const ending = lastWords(child);
  const end = () => {
    endGroup(child, 'SIGKILL');
    // Who left the group may hold these for ever.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  signal.addEventListener('abort', end, { once: true });
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > abilityOutputBytesMax) end();
    else chunks.push(chunk);
  });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', () => resolve());
    });
  } finally {
    signal.removeEventListener('abort', end);
  }
  signal.throwIfAborted();
  if (bytes > abilityOutputBytesMax) throw tooLarge(name, undefined);
  if (child.exitCode !== 0) throw new AbilityError(`${quoted(call.args.command)} failed, ${ending()}`);
  return textValue(Buffer.concat(chunks).toString('utf8').trimEnd());
}
