/** Recognizes commands that signal processes of Switchgear: the supervisor of a run and its watchdog. */

import { basename } from 'node:path';
import { isMatch } from '../../core/glob.ts';
import type { OwnProcess, OwnTargets } from './own-files.ts';

const signallerName = /^(kill|pkill|killall|skill|fuser|gdb|strace|prlimit)$/;

/** The processes of Switchgear that a command signals, described; undefined if there are none. */
export function findSignalledProcess(
  [program = '', ...args]: readonly string[],
  targets: OwnTargets,
): string | undefined {
  const name = basename(program);
  if (!signallerName.test(name) || args.some((arg) => /^(-0|-l|-L|-s0|--list|--help|--version)$/.test(arg)))
    return undefined;
  const isProbe = args.some((arg, at) => arg === '0' && /^(-s|-n|--signal)$/.test(args[at - 1] ?? ''));
  if (isProbe) return undefined;
  const found = targets.listProcesses?.().find((each) => isSignalled(name, args, each));
  return found === undefined ? undefined : `the process ${found.pid} of Switchgear`;
}

/** The process ids that `pgrep`, `pidof` or `ps` would print of Switchgear's own processes. */
export function listOwnPids([program = '', ...args]: readonly string[], targets: OwnTargets): string | undefined {
  const name = basename(program);
  if (!/^(pgrep|pidof|ps)$/.test(name)) return undefined;
  const processes = targets.listProcesses?.() ?? [];
  // The columns of `ps` depend on its options; a process id stands in each of them here.
  if (name === 'ps') return processes.map(({ pid, line }) => `${`${pid} `.repeat(columnsMax)}${line}\n`).join('');
  const found = processes.filter((each) => isNamed(name === 'pidof' ? 'killall' : 'pkill', args, each));
  return found.map(({ pid }) => `${pid}\n`).join('');
}

/** Columns before the command in the output of `ps`. */
const columnsMax = 10;

function isSignalled(name: string, args: readonly string[], each: OwnProcess): boolean {
  if (name === 'pkill' || name === 'killall' || name === 'skill') return isNamed(name, args, each);
  const operands = args.filter((arg, at) => at > 0 || !/^-[A-Z\d]/i.test(arg));
  const ids = [...operands, ...args.slice(1)].flatMap((arg) => arg.split(/[\s,=]+/));
  // A negative id names a group of processes; -1 names all of them.
  return ids.some(
    (id) => id === String(each.pid) || id === `-${each.group}` || (name === 'kill' && id === '-1' && args.length > 1),
  );
}

/** Whether a pattern of `pkill` or a name of `killall` stands for a process. */
function isNamed(name: string, args: readonly string[], { names, line }: OwnProcess): boolean {
  const isWhole = args.some((arg) => /^(-\w*f|--full)$/.test(arg));
  const isExact =
    name === 'killall'
      ? !args.some((arg) => /^(-\w*r|--regexp)$/.test(arg))
      : args.some((arg) => /^(-\w*x|--exact)$/.test(arg));
  const isFolded = args.some((arg) => /^(-\w*[iI]|--ignore-case)$/.test(arg));
  const fold = (text: string) => (isFolded ? text.toLowerCase() : text);
  const patterns = args.filter(
    (arg, at) =>
      !arg.startsWith('-') && !/^(-[sugGPtUn]|--(signal|user|group|parent|pgroup|terminal))$/.test(args[at - 1] ?? ''),
  );
  return patterns.some((pattern) => {
    const texts = isWhole ? [line] : names;
    return texts.some((text) => (isExact ? fold(text) === fold(pattern) : mayMatch(fold(pattern), fold(text))));
  });
}

/** The longest pattern that is looked at. */
const patternMax = 1_000;

/** Whether a text may match a regular expression, which is not run: everything special in it stands for any text. */
function mayMatch(pattern: string, text: string): boolean {
  if (pattern.length > patternMax) return true;
  return pattern.split('|').some((part) => {
    // A set of one character stands for the character.
    const plain = part.replaceAll(/\[([^\]^\\])\]/g, '$1').replaceAll(/\\([^\w\s])/g, '$1');
    const glob = plain.replaceAll(/\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|\\\w|.[*?]|[.+^$*?()[\]{}\\]/g, '*');
    return isMatch(`*${glob}*`, text);
  });
}
