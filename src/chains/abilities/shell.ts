/** `shell.execute`: runs a program, or a line of /bin/sh, with a clean environment; kills all its child processes. */

import { spawn } from 'node:child_process';
import { abilityOutputBytesMax } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';
import type { AbilitySettings } from '../../core/settings.ts';
import {
  type AbilityCall,
  AbilityError,
  type AbilitySource,
  argumentError,
  checkArgumentNames,
  createSwitchedSource,
  outputTooLarge,
  parseTextValue,
  requireText,
  requireTexts,
} from './ability.ts';
import { cleanEnvironment, createMark, type Environment, ownChild, trackEnding } from './child-process.ts';
import { identifyCommand, realPath, splitShellWords } from './program-identity.ts';

const name = 'shell.execute';

/** The working folder and environment of commands. */
export interface ShellOptions {
  /**
   * The working folder of commands.
   * @default process.cwd()
   */
  readonly cwd?: string;
  /**
   * The environment from which commands get HOME, LANG, LC_ALL, LOGNAME, PATH, SHELL, TERM, TMPDIR, TZ and USER. A
   * command gets any other variable only through the argument `env` of its step.
   * @default process.env
   */
  readonly env?: Environment;
}

/** The ability `shell.execute`; it exists only if `abilities.shell` of the policy is true. */
export function shellAbilities(
  { shell: isOn }: Pick<AbilitySettings, 'shell'>,
  options: ShellOptions = {},
): AbilitySource {
  const { cwd = process.cwd(), env = process.env } = options;
  const run = (call: AbilityCall) => execute(call, cwd, env);
  const identify = (args: AbilityCall['args']) => identifyStep(args, cwd, env);
  return createSwitchedSource('shell', isOn, [{ name, scope: 'agent', run, identify }]);
}

/** The program of a command and the scripts it names; the folder alone for arguments that are no command. */
function identifyStep(input: AbilityCall['args'], cwd: string, env: Environment): unknown {
  try {
    const { file, args, env: extra } = readCommand(input);
    const isLine = input.args === undefined;
    const words = isLine ? splitShellWords(String(input.command)) : args;
    return identifyCommand(file, words, cwd, { PATH: extra.PATH ?? env.PATH });
  } catch {
    return { cwd: realPath(cwd) };
  }
}

interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Environment;
}

/** `command` with `args` is a program; without `args` it is a line for the shell, which gets values through `env`. */
function readCommand(input: AbilityCall['args']): Command {
  checkArgumentNames(name, input, ['command', 'args', 'env']);
  const { command, args } = input;
  if (typeof command !== 'string' || command === '' || command.includes('\0'))
    throw argumentError(name, `command must be a text, got ${quoteValue(command)}`);
  const env = Object.fromEntries(requireTexts(name, 'env', input.env));
  if (args === undefined) return { file: '/bin/sh', args: ['-c', command], env };
  if (!Array.isArray(args)) throw argumentError(name, `args must be a list, got ${quoteValue(args)}`);
  return { file: command, args: args.map((item, at) => requireText(name, `args[${at}]`, item)), env };
}

async function execute(call: AbilityCall, cwd: string, env: Environment): Promise<unknown> {
  const { signal } = call;
  const command = readCommand(call.args);
  signal.throwIfAborted();
  const mark = createMark();
  const child = spawn(command.file, command.args, {
    cwd,
    env: cleanEnvironment(env, command.env, mark),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const tree = ownChild(child, mark);
  const describeEnding = trackEnding(child);
  const stop = () => {
    tree.kill();
    // A process that could not be killed may keep these streams open for ever.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > abilityOutputBytesMax) stop();
    else chunks.push(chunk);
  });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', () => resolve());
    });
  } finally {
    signal.removeEventListener('abort', stop);
  }
  signal.throwIfAborted();
  if (bytes > abilityOutputBytesMax) throw outputTooLarge(name, undefined);
  if (child.exitCode !== 0) throw new AbilityError(`${quoteValue(call.args.command)} failed, ${describeEnding()}`);
  return parseTextValue(Buffer.concat(chunks).toString('utf8').trimEnd());
}
