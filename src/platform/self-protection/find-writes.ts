/** The protected files that `find` with its tests would reach. */

import { basename, dirname, relative, resolve } from 'node:path';
import { isMatch } from '../../core/glob.ts';
import { quoteWord } from '../shell-programs.ts';
import { listOwnBelow, type OwnTargets, resolveRealPath, simplifyPattern } from './own-files.ts';

/** What `find` does: the protected files that it reaches, and what it does with them. */
export interface FoundFiles {
  /** Real paths of protected files, and of the folders above them that the tests name. */
  readonly paths: readonly string[];
  readonly isDeleted: boolean;
  /** The files that it writes its output to. */
  readonly outputs: readonly string[];
  /** The commands that it runs, for each of the paths. */
  readonly scripts: readonly string[];
}

const actionName = /^-(exec|execdir|ok|okdir)$/;

/** Reads the arguments of `find`. Tests that are not known are taken as true. */
export function readFindCommand(args: readonly string[], cwd: string, targets: OwnTargets): FoundFiles {
  const start = args.findIndex((arg) => /^[-(!]/.test(arg) && !/^-([HLPE]|O\d|D)$/.test(arg));
  const given = (start === -1 ? args : args.slice(0, start)).filter((arg) => !arg.startsWith('-'));
  const places = given.length === 0 ? ['.'] : given;
  const expression = start === -1 ? [] : args.slice(start);
  const { clauses, commands, outputs, isDeleted } = readExpression(expression);
  const paths = places.flatMap((place) => {
    const root = resolveRealPath(resolve(cwd, place));
    const files = listOwnBelow(place, cwd, targets).map(({ real }) => real);
    const folders = files.flatMap((file) => foldersBetween(root, file));
    const reaches = (path: string, isFile: boolean) =>
      clauses.some((clause) => isReached(clause, path, root, place, isFile));
    return [...files.filter((path) => reaches(path, true)), ...folders.filter((path) => reaches(path, false))];
  });
  const reached = [...new Set(paths)];
  const scripts = commands.flatMap((words) => {
    const fill = (path: string) => words.map((word) => quoteWord(word.replaceAll('{}', path))).join(' ');
    return reached.length === 0 ? [fill('/dev/null')] : reached.map(fill);
  });
  return { paths: reached, isDeleted, outputs, scripts };
}

/** One test: its name, its value, and whether it is negated. */
interface FindTest {
  readonly name: string;
  readonly value: string;
  readonly isNegated: boolean;
}

function readExpression(expression: readonly string[]) {
  const clauses: FindTest[][] = [[]];
  const commands: (readonly string[])[] = [];
  const outputs: string[] = [];
  let isDeleted = false;
  let isNegated = false;
  for (let at = 0; at < expression.length; at++) {
    const name = expression[at]!;
    if (actionName.test(name)) {
      const rest = expression.slice(at + 1);
      const length = rest.findIndex((word) => word === ';' || word === '+');
      commands.push(length === -1 ? rest : rest.slice(0, length));
      at += length === -1 ? rest.length : length + 1;
    } else if (name === '-delete') isDeleted = true;
    else if (/^-f(print0?|printf|ls)$/.test(name)) outputs.push(expression[++at] ?? '');
    else if (name === '-o' || name === '-or' || name === ',') clauses.push([]);
    else if (name === '!' || name === '-not') {
      isNegated = !isNegated;
      continue;
    } else if (/^-(i?name|i?path|i?wholename|type|maxdepth|mindepth)$/.test(name))
      clauses.at(-1)!.push({ name, value: expression[++at] ?? '', isNegated });
    isNegated = false;
  }
  return { clauses, commands, outputs, isDeleted };
}

function isReached(clause: readonly FindTest[], path: string, root: string, place: string, isFile: boolean): boolean {
  const inner = relative(root, path);
  // A folder goes with its content only if a test names it.
  if (!isFile && !clause.some(({ name }) => /name|path/.test(name))) return false;
  return clause.every(({ name, value, isNegated }) => {
    const fold = (text: string) => (name.startsWith('-i') ? text.toLowerCase() : text);
    const pattern = simplifyPattern(fold(value));
    const depth = inner.split('/').length;
    if (name.endsWith('name') && !name.includes('whole')) return isMatch(pattern, fold(basename(path))) !== isNegated;
    if (/path|wholename/.test(name))
      return isMatch(pattern, fold(`${place.replace(/\/$/, '')}/${inner}`)) !== isNegated;
    if (name === '-type') return (value.includes('f') === isFile || value.includes('d') === !isFile) !== isNegated;
    return name === '-maxdepth' ? depth <= Number(value) : depth >= Number(value);
  });
}

/** The folders above a file that lie below a root. */
function foldersBetween(root: string, path: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); folder.length > root.length; folder = dirname(folder)) folders.push(folder);
  return folders;
}
