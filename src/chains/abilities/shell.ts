/** `shell.execute`: runs a program, or a line of /bin/sh, with a clean environment; ends what it leaves running. */

import { type ChildProcess, spawn } from 'node:child_process';
import type { AbilitySettings } from '../../core/declare/ability-settings.ts';
import { abilityOutputBytesMax, agentGraceMs, drainMs, haltedDrainMs } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';
import { systemClock, wait } from '../../platform/system-clock.ts';
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
import {
  cleanEnvironment,
  createMark,
  type Environment,
  type LeftProgramOptions,
  ownChild,
  trackEnding,
} from './child-process.ts';
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
  /**
   * What happens to programs that a command leaves running when it ends: they are ended after the grace period, left,
   * or waited for until the step or the run reaches a limit.
   * @default 'end'
   */
  readonly leftBehind?: 'end' | 'leave' | 'wait';
  /**
   * The time that such programs have to end by themselves.
   * @default 5
   */
  readonly graceSecs?: number;
}

/** The ability `shell.execute`; it exists only if `abilities.shell` of the policy is true. */
export function shellAbilities(
  { shell: isOn }: Pick<AbilitySettings, 'shell'>,
  options: ShellOptions = {},
): AbilitySource {
  const { cwd = process.cwd(), env = process.env, leftBehind: mode = 'end', graceSecs } = options;
  const graceMs = graceSecs === undefined ? agentGraceMs : graceSecs * 1000;
  const run = (call: AbilityCall) => execute(call, cwd, env, { mode, graceMs });
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

async function execute(
  call: AbilityCall,
  cwd: string,
  env: Environment,
  leftPrograms: LeftProgramOptions,
): Promise<unknown> {
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
  const owned = ownChild(child, mark, 'keep');
  const describeEnding = trackEnding(child);
  const stop = () => {
    owned.kill();
    // A process that could not be killed may keep these streams open for ever.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const finish = async (stopWaiting: AbortSignal) => {
    const leftBehind = await owned.handleLeftBehind(leftPrograms, stopWaiting);
    child.stdout.destroy();
    child.stderr.destroy();
    return leftBehind;
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
    await waitForEnd(child, () => bytes);
  } finally {
    signal.removeEventListener('abort', stop);
    if (call.afterwards === undefined || signal.aborted) await finish(signal);
    else call.afterwards(finish);
  }
  signal.throwIfAborted();
  if (bytes > abilityOutputBytesMax) throw outputTooLarge(name, undefined);
  if (child.exitCode !== 0) throw new AbilityError(`${quoteValue(call.args.command)} failed, ${describeEnding()}`);
  return parseTextValue(Buffer.concat(chunks).toString('utf8').trimEnd());
}

/** Waits for the exit of a command and the rest of its output, which programs that it left running may keep open. */
async function waitForEnd(child: ChildProcess, countBytes: () => number): Promise<void> {
  const closed = new Promise<true>((resolve) => {
    child.once('close', () => resolve(true));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => resolve());
  });
  for (let tick = 0, silent = 0, bytes = -1; silent < 2 && tick < haltedDrainMs / drainMs; tick++) {
    if (await Promise.race([closed, wait(systemClock, drainMs)])) return;
    silent = countBytes() === bytes ? silent + 1 : 0;
    bytes = countBytes();
  }
}
