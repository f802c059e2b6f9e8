/** The files that a simple command writes, by the program and its arguments. */

import { basename } from 'node:path';
import { listPatchPaths, readAwkProgram, readSedProgram } from './program-texts.ts';

/** A path that a command writes or removes. */
export interface WrittenPath {
  readonly path: string;
  /** Whether the content of a folder goes with it. */
  readonly isRecursive: boolean;
}

/** What a command writes. */
export interface Writes {
  readonly paths: readonly WrittenPath[];
  /** Sources that are copied or moved into a folder. */
  readonly copies: readonly { readonly sources: readonly string[]; readonly destination: string }[];
  /** Shell scripts that the command runs. */
  readonly scripts: readonly string[];
}

const none: Writes = { paths: [], copies: [], scripts: [] };

/** Programs that only read the files they are given. */
const plainReaders =
  'cat less more head tail grep egrep fgrep rg ag ls stat wc diff cmp file bat test [ [[ echo printf md5sum sha1sum ' +
  'sha256sum shasum cksum od cut readlink realpath basename dirname du df column nl strings export source . cd ' +
  'pushd popd which type true false set unset read case return exit jq tac alias local declare readonly typeset ' +
  'hexdump eza lsof yamllint jsonlint taplo code open xdg-open zip mkdir comm paste fold tr uniq look delta fd ' +
  'tokei cloc gh docker shellcheck';

/** The same, unless one of these options is present. */
const readers: Readonly<Record<string, RegExp | undefined>> = {
  ...Object.fromEntries(plainReaders.split(' ').map((name) => [name, undefined])),
  tree: /^-o/,
  xxd: /^-r/,
  sort: /^(-o|--output)/,
  yq: /^(-\w*i|--inplace)/,
  prettier: /^(-w|--write)$/,
  eslint: /^(--fix|-o|--output-file)/,
  biome: /^--(write|fix|apply)/,
};

/** Programs whose patterns are looked at; a pattern of another program names too many files. */
const writers = /^(rm|mv|cp|sed|perl|tee|shred|truncate|unlink|install|ln|rsync|chmod|chown|touch|rmdir|trash|gio)$/;

const copyName = /^(cp|rsync|scp|install|ln|gcp|ditto)$/;
const removers = /^(rm|rmdir|shred|trash|unlink|gio)$/;

/** Lists what a command writes; `input` is the text that it reads, if that is known. */
export function listWrites([program = '', ...args]: readonly string[], input: string | undefined): Writes {
  const name = basename(program);
  if (name === 'sed' || name === 'gsed') return listSedWrites(args);
  if (/^[gmn]?awk$/.test(name)) return listAwkWrites(args);
  if (name === 'patch' || name === 'apply_patch' || (name === 'git' && /^(apply|am)$/.test(args[0] ?? '')))
    return { ...none, paths: [...plainPaths(listPatchPaths([input ?? '', ...args].join('\n'))), ...plainPaths(args)] };
  const options = Object.hasOwn(readers, name) ? readers[name] : null;
  if (options !== null && !(options !== undefined && args.some((arg) => options.test(arg)))) return none;
  if (name === 'mv' || copyName.test(name)) return listCopyWrites(name, args);
  if (name === 'tar' || name === 'bsdtar') return listTarWrites(args);
  if (/^python/.test(name) && args[0] === '-m' && args[1] === 'json.tool' && args.length <= 3) return none;
  // Downloads have the last name of their address.
  const isDownload = name === 'wget' || (name === 'curl' && args.some((arg) => /^(-\w*O|--remote-name)/.test(arg)));
  const downloads = isDownload ? args.map((arg) => basename(arg.replace(/[?#].*$/s, ''))) : [];
  // A mount covers what lies below it, and a mode without the owner's rights closes it.
  const isRecursive = removers.test(name) || name === 'mount' || (name === 'chmod' && closesFolders(args));
  const paths = [...args, ...downloads].flatMap((arg) => splitOption(arg).map((path) => ({ path, isRecursive })));
  return { ...none, paths: paths.filter(({ path }) => writers.test(name) || !/[*?[{]/.test(path)) };
}

/** Whether the arguments of `chmod` take the right to read or write from the owner, also inside of folders. */
function closesFolders(args: readonly string[]): boolean {
  const isDeep = args.some((arg) => /^(-[a-zA-Z]*R|--recursive)/.test(arg));
  return isDeep && args.some((arg) => /^0?[0-5][0-7]{2}$|^([go]*[ua][ugoa]*)?-[xX]*[rw]/.test(arg));
}

/** A word, and the value that is joined to an option: `of=file`, `--output=file`, `-ofile`. */
function splitOption(arg: string): readonly string[] {
  const values = [/^-{0,2}[\w-]+=(.+)$/s.exec(arg)?.[1], /^-[A-Za-z](.+)$/s.exec(arg)?.[1]];
  return [arg, ...values.filter((value) => value !== undefined)];
}

function plainPaths(paths: readonly string[]): readonly WrittenPath[] {
  return paths.map((path) => ({ path, isRecursive: false }));
}

const targetOption = /^(-\w*t|--target-directory)$/;

/** A copy writes its destination, and the names of its sources inside a folder. A move also removes its sources. */
function listCopyWrites(name: string, args: readonly string[]): Writes {
  const given = args.findIndex((arg) => targetOption.test(arg) && name !== 'rsync' && name !== 'scp');
  const joined = args.find((arg) => /^--target-directory=|^-t./.test(arg) && name !== 'rsync');
  const hasEnd = args.indexOf('--');
  const isOperand = (arg: string, at: number) =>
    (hasEnd !== -1 && at > hasEnd) || (!arg.startsWith('-') && !(given !== -1 && at === given + 1));
  const operands = args.filter(isOperand);
  const folder = given === -1 ? joined?.replace(/^(--target-directory=|-t)/, '') : args[given + 1];
  const sources = folder === undefined ? operands.slice(0, -1) : operands;
  const destination = folder ?? operands.at(-1) ?? '';
  const isDeleting = name === 'rsync' && args.some((arg) => /^--(delete|remove-source-files)/.test(arg));
  const removed = name === 'mv' ? sources.map((path) => ({ path, isRecursive: true })) : [];
  // A link to a protected file is another name for it; an archive of changes may hold any name.
  const linked = name === 'ln' ? plainPaths(sources) : [];
  // A forced link takes the place of a folder with all that it holds.
  const isReplacing =
    name === 'ln' && args.some((arg) => /^-\w*f|^--force/.test(arg)) && args.some((arg) => /^-\w*[nT]/.test(arg));
  const backup = args.flatMap((arg) => /^--(?:log-file|backup-dir|partial-dir)=(.+)$/.exec(arg)?.[1] ?? []);
  const written = [
    ...removed,
    ...linked,
    ...plainPaths(backup),
    { path: destination, isRecursive: isDeleting || isReplacing },
  ];
  return { ...none, paths: written, copies: [{ sources, destination }] };
}

/** An archive that is made reads its files. */
function listTarWrites(args: readonly string[]): Writes {
  const makes = /^-?-?\w*[ctru]/.test(args[0] ?? '') && !/x/.test(args[0] ?? '') && !args.includes('--extract');
  if (!makes) return { ...none, paths: plainPaths(args.flatMap(splitOption)) };
  const at = args.findIndex((arg) => /^(-?[a-zA-Z]*f|--file)$/.test(arg));
  const archive = at === -1 ? args.flatMap((arg) => /^--file=(.+)$/.exec(arg)?.[1] ?? []) : [args[at + 1] ?? ''];
  const removes = args.includes('--remove-files');
  return {
    ...none,
    paths: [...plainPaths(archive), ...(removes ? args.map((path) => ({ path, isRecursive: true })) : [])],
  };
}

function listSedWrites(args: readonly string[]): Writes {
  const isInPlace = args.some((arg) => /^(-[a-zA-Z]*i|--in-place)/.test(arg));
  const isGiven = args.some((arg) => /^(-\w*e|--expression)/.test(arg));
  const firstOperand = args.find((arg) => !arg.startsWith('-')) ?? '';
  const programs = isGiven ? args : [firstOperand];
  const { writes, scripts } = readSedProgram(programs.map((text) => text.replace(/^(-e|--expression=)/, '')));
  return { ...none, paths: plainPaths([...writes, ...(isInPlace ? args : [])]), scripts };
}

function listAwkWrites(args: readonly string[]): Writes {
  const values = args.flatMap((arg) => /^(?:-v)?\w+=(.+)$/s.exec(arg)?.[1] ?? []);
  const programs = args.filter((arg) => /[{}"(]/.test(arg));
  const texts = programs.map((program) => readAwkProgram(program, [...values, ...args]));
  const isInPlace = args.some((arg, at) => /^(-i|--include)/.test(arg) && /inplace/.test(arg + (args[at + 1] ?? '')));
  return {
    ...none,
    paths: plainPaths([...texts.flatMap(({ writes }) => writes), ...(isInPlace ? args : [])]),
    scripts: texts.flatMap(({ scripts }) => scripts),
  };
}
