/** Parses the options of `switchgear run` before the `--`. */

import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { agentGraceMs } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import { type ParsedArgs, readArgs, type Terminal, usageError } from '../command.ts';
import { parseDollars, parseDurationSecs, parseWholeNumber } from '../option-values.ts';
import { describeReadError } from '../process-terminal.ts';

export interface RunCommandOptions {
  readonly parsedArgs: ParsedArgs;
  /** The arguments before the `--`, unparsed, without the store, whose address may contain a password. */
  readonly ownArgs: readonly string[];
  readonly command: readonly string[];
  readonly limits: Partial<TaskSettings>;
  /** Whether the command runs and prints exactly as given. */
  readonly raw: boolean;
  readonly json: boolean;
  readonly observe: boolean;
  readonly quiet: boolean;
  readonly interactive: boolean;
  /** Whether `[heartbeat]` lines open tasks with limits of their own. */
  readonly heartbeats: boolean;
  /** Whether to ask at the terminal after a halt. */
  readonly ask: boolean;
  /** How long to wait for an answer in the inbox without a terminal. */
  readonly waitMs: number;
  readonly graceMs: number;
  /** What happens to programs that the agent has left running. */
  readonly leftBehind: 'end' | 'leave' | 'wait';
  /** Whether the agent runs in a PID namespace of its own. */
  readonly contain: boolean;
  /** Whether model calls are metered by a gateway of the run's own, and its providers, if they are given. */
  readonly gateway: boolean;
  readonly upstream: string | undefined;
  readonly agent: string | undefined;
  readonly session: string | undefined;
  readonly policy: string | undefined;
  /** The unchecked mapping of an unknown program. */
  readonly mapping: unknown;
}

const outputSwitches = ['--raw', '--json', '--observe', '--quiet', '--interactive', '--heartbeats', '--no-ask'];
const treeSwitches = ['--leave', '--wait-tree', '--contain'];
const knownSwitches = [...outputSwitches, ...treeSwitches, '--gateway'];
const limitOptions = ['--max-calls', '--max-tree-calls', '--max-spend', '--max-tokens', '--max-duration', '--max-idle'];
const valueOptions = [
  ...['--store', '--policy', '--agent', '--session', '--grace', '--wait', '--mapping', '--upstream'],
  ...limitOptions,
];

export function parseRunOptions(args: readonly string[], terminal: Terminal): RunCommandOptions {
  const separator = args.indexOf('--');
  if (separator === -1) throw usageError('run: write the command after --, as in: switchgear run -- claude -p "…"');
  const command = args.slice(separator + 1);
  if (command.length === 0) throw usageError('run: no command after --');
  const ownArgs = args.slice(0, separator);
  const parsedArgs = readArgs(ownArgs, knownSwitches, 0, valueOptions);
  const { switches, values } = parsedArgs;
  if (switches.has('--raw') && switches.has('--json'))
    throw usageError('run: --raw leaves the output alone, --json replaces it');
  if (treeSwitches.filter((name) => switches.has(name)).length > 1)
    throw usageError('run: use one of --leave, --wait-tree and --contain; --contain leaves no program running');
  if (values.has('--upstream') && !switches.has('--gateway'))
    throw usageError('run: --upstream names the provider behind the gateway, so it needs --gateway');
  return {
    parsedArgs,
    ownArgs: removeStoreOption(ownArgs),
    command,
    limits: parseLimits(values),
    raw: switches.has('--raw'),
    json: switches.has('--json'),
    observe: switches.has('--observe'),
    quiet: switches.has('--quiet'),
    interactive: switches.has('--interactive'),
    heartbeats: switches.has('--heartbeats'),
    ask: !switches.has('--no-ask'),
    waitMs: 1000 * (parseDurationSecs(values, '--wait', 0) ?? 0),
    ...parseLeftBehindOptions(parsedArgs),
    contain: switches.has('--contain'),
    gateway: switches.has('--gateway'),
    upstream: values.get('--upstream'),
    agent: values.get('--agent'),
    session: values.get('--session'),
    policy: values.get('--policy'),
    mapping: readMapping(values.get('--mapping'), terminal),
  };
}

/** Parses what happens to programs that a command leaves running: `--grace`, `--leave` and `--wait-tree`. */
export function parseLeftBehindOptions({
  switches,
  values,
}: ParsedArgs): Pick<RunCommandOptions, 'graceMs' | 'leftBehind'> {
  return {
    graceMs: 1000 * (parseDurationSecs(values, '--grace', 0) ?? agentGraceMs / 1000),
    leftBehind: switches.has('--leave') ? 'leave' : switches.has('--wait-tree') ? 'wait' : 'end',
  };
}

function removeStoreOption(args: readonly string[]): readonly string[] {
  return args.filter((arg, at) => !arg.startsWith('--store=') && arg !== '--store' && args[at - 1] !== '--store');
}

function parseLimits(values: ParsedArgs['values']): Partial<TaskSettings> {
  const maxToolCalls = parseWholeNumber(values, '--max-calls');
  const maxTreeCalls = parseWholeNumber(values, '--max-tree-calls');
  const maxSpendCents = parseDollars(values, '--max-spend');
  const maxTokens = parseWholeNumber(values, '--max-tokens');
  const maxDurationSecs = parseDurationSecs(values, '--max-duration', 1);
  const maxIdleSecs = parseDurationSecs(values, '--max-idle', 1);
  return {
    ...(maxToolCalls !== undefined && { maxToolCalls }),
    ...(maxTreeCalls !== undefined && { maxTreeCalls }),
    ...(maxSpendCents !== undefined && { maxSpendCents }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxDurationSecs !== undefined && { maxDurationSecs }),
    ...(maxIdleSecs !== undefined && { maxIdleSecs }),
  };
}

/** Adds the mapping of the policy to the options, unless the command line has one. */
export function withMapping(
  options: RunCommandOptions,
  { settings: { mappings = {} } }: CheckedPolicy,
): RunCommandOptions {
  const program = basename(options.command[0] ?? '');
  if (options.mapping !== undefined || !Object.hasOwn(mappings, program)) return options;
  return { ...options, mapping: mappings[program] };
}

function readMapping(path: string | undefined, { cwd }: Terminal): unknown {
  if (path === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(resolve(cwd, path), 'utf8')) as unknown;
  } catch (error) {
    throw usageError(`--mapping ${JSON.stringify(path)} cannot be read: ${describeReadError(error)}`);
  }
}
