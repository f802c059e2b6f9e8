/** What was said on the command line of `switchgear run`, before the `--`. */

import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { agentGraceMs } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import { readArgs, type Said, type Terminal, usageError } from '../command.ts';

export interface RunOptions {
  readonly said: Said;
  /** What stood before the `--`, word by word. */
  readonly words: readonly string[];
  readonly command: readonly string[];
  readonly limits: Partial<TaskSettings>;
  /** Whether the command is run and passed on exactly as it was given. */
  readonly raw: boolean;
  readonly json: boolean;
  readonly observe: boolean;
  readonly quiet: boolean;
  readonly interactive: boolean;
  /** Whether somebody at the terminal may be asked after a halt. */
  readonly ask: boolean;
  /** How long the answer in the inbox is waited for where nobody is at the terminal. */
  readonly waitMs: number;
  readonly graceMs: number;
  readonly agent: string | undefined;
  readonly session: string | undefined;
  readonly policy: string | undefined;
  /** How to read a program that is none of the known ones, as it was written. */
  readonly mapping: unknown;
}

const switches = ['--raw', '--json', '--observe', '--quiet', '--interactive', '--no-ask'];
const limitOptions = ['--max-calls', '--max-spend', '--max-tokens', '--max-duration', '--max-idle'];
const options = ['--store', '--policy', '--agent', '--session', '--grace', '--wait', '--mapping', ...limitOptions];

export function runOptions(args: readonly string[], terminal: Terminal): RunOptions {
  const at = args.indexOf('--');
  if (at === -1) throw usageError('run: write the command after --, as in: switchgear run -- claude -p "…"');
  const command = args.slice(at + 1);
  if (command.length === 0) throw usageError('run: there is no command after --');
  const words = args.slice(0, at);
  const said = readArgs(words, switches, 0, options);
  const { on, given } = said;
  if (on.has('--raw') && on.has('--json')) throw usageError('run: --raw leaves the output alone, --json replaces it');
  return {
    said,
    words,
    command,
    limits: limitsOf(given),
    raw: on.has('--raw'),
    json: on.has('--json'),
    observe: on.has('--observe'),
    quiet: on.has('--quiet'),
    interactive: on.has('--interactive'),
    ask: !on.has('--no-ask'),
    waitMs: 1000 * (timeOf(given, '--wait', 0) ?? 0),
    graceMs: 1000 * (timeOf(given, '--grace', 0) ?? agentGraceMs / 1000),
    agent: given.get('--agent'),
    session: given.get('--session'),
    policy: given.get('--policy'),
    mapping: mappingAt(given.get('--mapping'), terminal),
  };
}

function limitsOf(given: Said['given']): Partial<TaskSettings> {
  const maxToolCalls = wholeOf(given, '--max-calls');
  const maxSpendCents = centsOf(given, '--max-spend');
  const maxTokens = wholeOf(given, '--max-tokens');
  const maxDurationSecs = timeOf(given, '--max-duration', 1);
  const maxIdleSecs = timeOf(given, '--max-idle', 1);
  return {
    ...(maxToolCalls !== undefined && { maxToolCalls }),
    ...(maxSpendCents !== undefined && { maxSpendCents }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxDurationSecs !== undefined && { maxDurationSecs }),
    ...(maxIdleSecs !== undefined && { maxIdleSecs }),
  };
}

function wholeOf(given: Said['given'], name: string): number | undefined {
  const text = given.get(name);
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1) return Number(text);
  throw usageError(`${name} must be a whole number from 1, got ${JSON.stringify(text)}`);
}

/** Dollars, with or without their sign. */
function centsOf(given: Said['given'], name: string): number | undefined {
  const text = given.get(name);
  if (text === undefined) return undefined;
  const [, dollars] = /^\$?(\d{1,7}(?:\.\d{1,2})?)$/.exec(text) ?? [];
  const cents = Math.round(Number(dollars) * 100);
  if (cents >= 1) return cents;
  throw usageError(`${name} must be dollars, as in 2.50, got ${JSON.stringify(text)}`);
}

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Seconds: `90`, `90s`, `30m`, `2h`, `1d`. */
function timeOf(given: Said['given'], name: string, least: number): number | undefined {
  const text = given.get(name);
  if (text === undefined) return undefined;
  const [, many, unit = 's'] = /^(\d{1,7})([smhd]?)$/.exec(text) ?? [];
  const secs = Number(many) * units[(unit || 's') as keyof typeof units];
  if (secs >= least) return secs;
  throw usageError(`${name} must be a time, as in 90s, 30m or 2h, got ${JSON.stringify(text)}`);
}

/** The options, with how the policy says that the program is to be read, unless the command line does. */
export function withMapping(options: RunOptions, { settings: { mappings = {} } }: CheckedPolicy): RunOptions {
  const program = basename(options.command[0] ?? '');
  if (options.mapping !== undefined || !Object.hasOwn(mappings, program)) return options;
  return { ...options, mapping: mappings[program] };
}

function mappingAt(path: string | undefined, { cwd }: Terminal): unknown {
  if (path === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(resolve(cwd, path), 'utf8')) as unknown;
  } catch (error) {
    throw usageError(`--mapping ${JSON.stringify(path)} cannot be read: ${(error as Error).message}`);
  }
}
