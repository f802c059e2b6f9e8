/**
 * The process that ran a hook. A host starts a hook as its child, directly or through shells and launchers. A tool of
 * the agent that starts a hook by itself is recognized by the processes between hook and host, and by the launch: the
 * session of processes, stdin and command lines with which the host started its hooks before the first call.
 */

import { fstatSync } from 'node:fs';
import { basename } from 'node:path';
import { fingerprint } from '../guard/internal.ts';
import { type ProcessChain, readProcessChain } from '../supervisor/process-chain.ts';
import { type ProcessInfo, readCommandLine } from '../supervisor/process-table.ts';
import { recognizeCommand, shellName } from '../supervisor/recognize-command.ts';

export interface HookOrigin {
  /** The process that ran the hook; undefined if there is none but shells. */
  readonly host: ProcessInfo | undefined;
  /** How the host launched the hook. */
  readonly launch?: HookLaunch | undefined;
  /** The same for the program nearest to the hook, if an agent CLI above it is taken for the host. */
  readonly innerLaunch?: HookLaunch | undefined;
  /** All processes above the hook. */
  readonly ancestors: readonly ProcessInfo[];
  /** The hook and all processes above it. */
  readonly chain: ProcessChain;
}

export interface HookLaunch {
  readonly host: ProcessInfo;
  /** The command lines of the shells and launchers between the hook and its host. */
  readonly between: readonly (readonly string[])[];
  /** Whether the hook has the session of processes of its host, and the type of its stdin. */
  readonly surroundings: string;
}

/** Reads the origin of the hook that this process is. */
export function readHookOrigin(): HookOrigin {
  const chain = readProcessChain();
  const { links } = chain;
  const ancestors = links.slice(1);
  const between: (readonly string[])[] = [];
  const makeLaunch = (host: ProcessInfo): HookLaunch => {
    const surroundings = `${links[0]?.session === host.session} ${readStdinType()}`;
    return { host, between: [...between], surroundings };
  };
  let nearest: HookLaunch | undefined;
  for (const each of ancestors) {
    const words = readCommandLine(each.pid);
    const kind = recognizeCommand(words);
    // A person at a shell is no host. The first process of a container may be an agent CLI.
    if (kind === 'interactive shell' || (each.pid === 1 && kind !== 'agent')) break;
    // A program that an agent CLI started is a wrapper of its hooks, or a tool.
    if (kind === 'agent') return { host: each, launch: makeLaunch(each), innerLaunch: nearest, ancestors, chain };
    if (kind === 'program' && nearest !== undefined) break;
    if (kind === 'program') nearest = makeLaunch(each);
    between.push(words);
  }
  return { host: nearest?.host, launch: nearest, ancestors, chain };
}

function readStdinType(): string {
  try {
    const stdin = fstatSync(0);
    return stdin.isSocket() ? 'socket' : stdin.isFIFO() ? 'pipe' : stdin.isFile() ? 'file' : 'other';
  } catch {
    return 'none';
  }
}

/** A shell or launcher that runs nothing but the hook. */
const plainLaunch = /^[^|;&<>`$()\n]* hook (claude-code|codex|gemini)( [^|;&<>`$()\n]*)?$/;

/** The launch of a hook as numbers: its surroundings alone, and with its command lines. */
export function describeLaunch({ between, surroundings }: HookLaunch): readonly [surroundings: number, launch: number] {
  const lines = between.map((words) => words.join(' '));
  // Plain launches differ in their number alone: a tool that the hook replaces has no shell above it.
  const shown = lines.every((line) => plainLaunch.test(line)) ? [lines.length] : lines;
  return [fingerprint('surroundings', [surroundings]), fingerprint('launch', [surroundings, ...shown])];
}

/** The command that the host ran, by a shell or itself; undefined if nothing is between host and hook. */
export function findHookCommand({ between }: HookLaunch): string | undefined {
  const words = between.at(-1) ?? [];
  const [program = '', ...args] = words;
  if (!shellName.test(basename(program))) return words.length === 0 ? undefined : words.join(' ');
  const at = args.findIndex((arg) => /^-\w*c/.test(arg));
  return at === -1 ? undefined : args[at + 1];
}
