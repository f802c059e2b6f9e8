/** The protected files that a command of git would change in the folder of its repository. */

import { statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { isMatch } from '../../core/glob.ts';
import { gitIndexBytesMax } from '../../core/limits.ts';
import { readRegularFile } from '../regular-file.ts';
import { findRepository } from '../shell-programs.ts';
import {
  findOwnFile,
  listOwnBelow,
  type OwnPath,
  type OwnTargets,
  resolveRealPath,
  searchedBytesMax,
} from './own-files.ts';

/** Verbs that change files of the working folder which they are given by name. */
const writingVerbs =
  /^(checkout|restore|reset|clean|rm|mv|apply|am|stash|pull|merge|rebase|switch|config|checkout-index|archive|bundle)$/;

/** Names the protected file that a command of git would change. */
export function findGitWrite(allArgs: readonly string[], cwd: string, targets: OwnTargets): string | undefined {
  const { verb, args, folder } = readGitArguments(allArgs, cwd);
  for (const arg of args) {
    const [, output] = /^(?:--output=|-o)(.+)$/s.exec(arg) ?? [];
    const found = output === undefined ? undefined : findOwnFile(output, folder, targets, false);
    if (found !== undefined) return found;
  }
  if (!writingVerbs.test(verb)) return undefined;
  const isMove = verb === 'rm' || verb === 'mv';
  // Only files of the index are restored.
  const isIndexOnly =
    verb === 'restore' && args.includes('--staged') && !args.some((arg) => /^(-W|--worktree)$/.test(arg));
  if (isIndexOnly || (verb === 'rm' && args.includes('--cached'))) return undefined;
  const operands = args.filter((arg) => !arg.startsWith('-'));
  for (const operand of operands) {
    const found = findOwnFile(operand.replace(/^:[/(!^]?(\w+\))?/, ''), folder, targets, isMove);
    if (found !== undefined) return found;
  }
  return findInTree(verb, args, operands, folder, targets);
}

/** Names the protected file that a command over a folder, or over the whole repository, would change. */
function findInTree(
  verb: string,
  args: readonly string[],
  operands: readonly string[],
  folder: string,
  targets: OwnTargets,
): string | undefined {
  const repository = findRepository(folder);
  if (repository === undefined) return undefined;
  const has = (pattern: RegExp) => args.some((arg) => pattern.test(arg));
  const paths = operands.filter((operand) => isFolder(resolve(folder, operand)));
  const below = (places: readonly string[]) => places.flatMap((place) => listOwnBelow(place, folder, targets));
  const index = () => readIndex(repository);
  if (verb === 'checkout' || verb === 'restore' || verb === 'checkout-index') {
    const places = verb === 'checkout-index' && has(/^(-a|--all)$/) ? [folder] : paths;
    const hasSource = has(/^(-s|--source)/) || (verb === 'checkout' && operands.length > paths.length);
    return below(places).find(
      (own) =>
        stateOf(own, repository, index()) === (hasSource ? 'unchanged' : 'changed') ||
        stateOf(own, repository, index()) === 'changed',
    )?.path;
  }
  if (verb === 'reset' && has(/^--(hard|merge|keep)$/))
    return below([repository]).find((own) => stateOf(own, repository, index()) === 'changed')?.path;
  if (verb === 'stash') {
    if (!/^(push|save|)$/.test(operands[0] ?? '')) return undefined;
    const isAll = has(/^(-\w*[ua]|--include-untracked|--all)$/);
    const places = operands.length > 1 && args.includes('--') ? paths : [repository];
    return below(places).find((own) => {
      const state = stateOf(own, repository, index());
      return (
        state === 'changed' ||
        (isAll && state === 'untracked' && (has(/^(-\w*a|--all)$/) || !isIgnored(own, repository)))
      );
    })?.path;
  }
  if (verb !== 'clean' || has(/^(-\w*n|--dry-run)/) || !has(/^(-\w*[fi]|--force|--interactive)/)) return undefined;
  const excluded = args.flatMap((arg, at) =>
    args[at - 1] === '-e' ? [arg] : (/^(?:-e|--exclude=)(.+)$/.exec(arg)?.[1] ?? []),
  );
  return below(paths.length === 0 ? [folder] : paths).find(
    (own) =>
      stateOf(own, repository, index()) === 'untracked' &&
      !excluded.some((pattern) => isMatch(pattern, basename(own.real))) &&
      (has(/^-\w*[xX]/) || !isIgnored(own, repository)),
  )?.path;
}

/** Reads the options before the verb. */
function readGitArguments(args: readonly string[], cwd: string) {
  let folder = cwd;
  let at = 0;
  for (; at < args.length && args[at]!.startsWith('-'); at++) {
    if (args[at] === '-C' || args[at] === '--work-tree') folder = resolve(folder, args[++at] ?? '.');
    else if (/^(-c|--git-dir|--namespace|--exec-path|--config-env)$/.test(args[at]!)) at++;
    else if (args[at]!.startsWith('--work-tree=')) folder = resolve(folder, args[at]!.slice('--work-tree='.length));
  }
  return { verb: args[at] ?? '', args: args.slice(at + 1), folder };
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}

/** The index of a repository; undefined if it is too large or cannot be read. */
function readIndex(repository: string): Buffer | undefined {
  return readRegularFile(join(repository, '.git', 'index'), gitIndexBytesMax);
}

/** Bytes of an entry of the index before its path, and the places of its time of change and its size. */
const entryHead = 62;
const entryTimeAt = 8;
const entrySizeAt = 36;

/** Whether git knows a file, and whether the file differs from what git knows by its size or time of change. */
function stateOf(
  { real }: OwnPath,
  repository: string,
  index: Buffer | undefined,
): 'untracked' | 'unchanged' | 'changed' {
  const path = Buffer.from(`${relative(resolveRealPath(repository), real)}\0`);
  const at = index?.indexOf(path) ?? -1;
  if (index === undefined || at < entryHead) return 'untracked';
  try {
    const { size, mtimeMs } = statSync(real);
    const isSame =
      index.readUInt32BE(at - entryHead + entrySizeAt) === size &&
      index.readUInt32BE(at - entryHead + entryTimeAt) === Math.floor(mtimeMs / 1_000);
    return isSame ? 'unchanged' : 'changed';
  } catch {
    return 'changed';
  }
}

/** Whether a line of the repository's ignore file names the file or a folder above it. */
function isIgnored({ real }: OwnPath, repository: string): boolean {
  let text = '';
  for (const name of ['.gitignore', join('.git', 'info', 'exclude')]) {
    text += `${readRegularFile(join(repository, name), searchedBytesMax) ?? ''}\n`;
  }
  const inner = relative(resolveRealPath(repository), real);
  const names = inner.split('/');
  return text.split('\n').some((line) => {
    const pattern = line.trim().replace(/^\/|\/$/g, '');
    if (pattern === '' || /^[#!]/.test(pattern)) return false;
    return pattern.includes('/') ? isMatch(pattern, inner) : names.some((name) => isMatch(pattern, name));
  });
}
