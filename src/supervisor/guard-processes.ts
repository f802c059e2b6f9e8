/** The processes of Switchgear that guard agents on this machine: supervisors of runs and chains, and watchdogs. */

import { basename } from 'node:path';
import { isOwnProgram } from '../platform/self-protection/own-commands.ts';
import type { OwnProcess, OwnTargets } from '../platform/self-protection/own-files.ts';
import { listProcesses, type ProcessInfo, readCommandLine, readProgramName } from './process-table.ts';

/** Lists supervisors and watchdogs by their command lines, without those that descend from the agent itself. */
export function listGuardProcesses(targets: OwnTargets, agent: number | undefined): readonly OwnProcess[] {
  const all = new Map(listProcesses().map((each) => [each.pid, each]));
  const lines = new Map<number, readonly string[]>();
  const supervisors = new Set<number>();
  for (const { pid } of all.values()) {
    const words = readCommandLine(pid);
    lines.set(pid, words);
    if (isSupervisor(words, targets)) supervisors.add(pid);
  }
  const guards = [...all.values()].filter(
    ({ pid, parent }) => supervisors.has(pid) || (supervisors.has(parent) && isWatchdog(lines.get(pid) ?? [], parent)),
  );
  return guards.filter((each) => !isBelow(each, agent, all)).map((each) => describe(each, lines.get(each.pid) ?? []));
}

function isSupervisor(words: readonly string[], targets: OwnTargets): boolean {
  const at = words.findIndex((word) => /^(run|chain)$/.test(word));
  return at > 0 && at <= programWordsMax && isOwnProgram(words[at - 1] ?? '', '/', targets);
}

/** The words of a command line up to the verb of Switchgear: an interpreter, its options, and the program. */
const programWordsMax = 8;

/** The supervisor starts its watchdog as a program text, with its own process id as the last word. */
function isWatchdog(words: readonly string[], parent: number): boolean {
  return words.includes('-e') && words.at(-1) === String(parent);
}

function isBelow({ pid }: ProcessInfo, agent: number | undefined, all: ReadonlyMap<number, ProcessInfo>): boolean {
  let at: number | undefined = pid;
  for (let step = 0; at !== undefined && step < all.size; step++) {
    if (at === agent) return true;
    at = all.get(at)?.parent;
  }
  return false;
}

function describe({ pid, group, name }: ProcessInfo, words: readonly string[]): OwnProcess {
  const names = [name, basename(words[0] ?? ''), readProgramName(pid) ?? name];
  return { pid, group, names: [...new Set(names)], line: words.join(' ') };
}
