/** Programs that run other commands, and programs whose output is known without running them. */

import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathDepthMax, shellTextMax } from '../core/limits.ts';
import { readRegularFile } from './regular-file.ts';
import { decodeEscapes } from './shell-expansion.ts';
import { unknownOutput } from './shell-words.ts';

export interface UnwrappedCommand {
  readonly words: readonly string[];
  /** The assignments before the command. */
  readonly assigned: readonly (readonly [name: string, value: string])[];
  /** Whether the command reads further words, as under `xargs`. */
  readonly appended: boolean;
  /** The text that `xargs -I` replaces. */
  readonly replaced: string | undefined;
}

/** Options of wrappers that have a value of their own, and words before the command. */
const wrappers: Readonly<Record<string, { readonly values?: RegExp; readonly words?: number }>> = {
  env: { values: /^(-u|-C|--unset|--chdir)$/ },
  sudo: { values: /^(-[ugpChrtTUDR]|--(user|group|prompt|chdir|host|role|type|chroot))$/ },
  doas: { values: /^-[uC]$/ },
  nice: { values: /^(-n|--adjustment)$/ },
  ionice: { values: /^-[cnp]$/ },
  timeout: { values: /^(-[ks]|--(signal|kill-after))$/, words: 1 },
  gtimeout: { values: /^(-[ks]|--(signal|kill-after))$/, words: 1 },
  stdbuf: { values: /^-[ioe]$/ },
  xargs: { values: /^(-[ILPdEans]|--(max-args|max-procs|delimiter|arg-file|max-lines|eof))$/ },
  parallel: { values: /^(-[jIN]|--jobs)$/ },
  flock: { values: /^-[wE]$/, words: 1 },
  taskset: { words: 1 },
  chrt: { words: 1 },
  faketime: { words: 1 },
  strace: { values: /^-[eopsu]$/ },
  exec: { values: /^-a$/ },
  'systemd-run': {
    values: /^(-[EpuMH]|--(unit|property|setenv|slice|uid|gid|machine|host|working-directory|description|on-\w+))$/,
  },
  chroot: { words: 1 },
  pkexec: { values: /^--user$/ },
  'systemd-inhibit': {},
  ...Object.fromEntries(
    'nohup setsid command builtin unbuffer chronic busybox toybox unshare eatmydata caffeinate time'
      .split(' ')
      .map((name) => [name, {}]),
  ),
};

/** Removes assignments and wrappers from a command. */
export function unwrapCommand(allWords: readonly string[]): UnwrappedCommand {
  const assigned: [string, string][] = [];
  let words = allWords;
  let appended = false;
  let replaced: string | undefined;
  for (let step = 0; step < wrappersMax; step++) {
    const [first = ''] = words;
    const [, name, value] = /^(\w+\+?)=(.*)$/s.exec(first) ?? [];
    const wrapper = basename(first);
    if (name !== undefined) {
      assigned.push([name, value!]);
      words = words.slice(1);
    } else if (Object.hasOwn(wrappers, wrapper)) {
      const inner = unwrap(wrapper, words.slice(1));
      if (wrapper === 'env' || wrapper === 'sudo') assigned.push(...listAssignments(words.slice(1, -inner.length)));
      if (wrapper === 'xargs' || wrapper === 'parallel') {
        appended = true;
        const own = words.slice(0, words.length - inner.length);
        const at = own.findIndex((word) => /^-(I|i)|^--replace/.test(word));
        replaced = wrapper === 'parallel' ? '{}' : at === -1 ? undefined : readReplaced(own, at);
      }
      words = inner;
    } else break;
  }
  return { words, assigned, appended, replaced };
}

/** The assignments among the words of `env`. */
function listAssignments(words: readonly string[]): readonly [string, string][] {
  return words.flatMap((word) => {
    const [, name, value] = /^(\w+)=(.*)$/s.exec(word) ?? [];
    return name === undefined ? [] : [[name, value!] satisfies [string, string]];
  });
}

/** Wrappers and assignments before a command. */
const wrappersMax = 50;

function readReplaced(words: readonly string[], at: number): string {
  const [, text = ''] = /^(?:-I|-i|--replace=?)(.*)$/s.exec(words[at]!) ?? [];
  return text !== '' ? text : words[at] === '-I' ? (words[at + 1] ?? '{}') : '{}';
}

/** Removes the options of a wrapper and its own values. */
function unwrap(name: string, args: readonly string[]): readonly string[] {
  const { values, words = 0 } = wrappers[name]!;
  let at = 0;
  while (at < args.length) {
    const arg = args[at]!;
    if (name === 'env' && /^(-S|--split-string)/.test(arg)) {
      const text = arg.replace(/^(-S|--split-string=?)/, '') || (args[at + 1] ?? '');
      return text.split(/\s+/).filter((word) => word !== '');
    }
    if (/^\w+=/.test(arg)) at++;
    else if (arg === '--') {
      at++;
      break;
    } else if (arg.startsWith('-')) at += values?.test(arg) === true ? 2 : 1;
    else break;
  }
  return args.slice(at + words);
}

/** A script that a command runs. */
export interface InnerScript {
  readonly script: string;
  /** The parameters from `$0` on. */
  readonly parameters: readonly string[];
  /** Whether its folder and variables end with it. */
  readonly isOwnScope: boolean;
}

/**
 * The script that a command runs: `sh -c SCRIPT`, `eval`, `script -c`, `watch`, or the text that a shell reads.
 * `readText` returns the content of a file that the script itself writes, or of a process substitution.
 */
export function findInnerScript(
  [program = '', ...args]: readonly string[],
  input: string | undefined,
  readText: (path: string) => string | undefined,
  folders: readonly string[],
): InnerScript | undefined {
  const base = basename(program);
  const own = (script: string): InnerScript => ({ script, parameters: [], isOwnScope: true });
  const isSourced = base === 'source' || base === '.';
  const isShell = isShellProgram(base);
  const file = isShell || isSourced ? args.find((arg) => !/^[-+]/.test(arg) || arg === '-') : undefined;
  const text = file === undefined || args.some(isCommandOption) ? undefined : readText(file);
  if (text !== undefined)
    return { script: text, parameters: isSourced ? [] : args.slice(args.indexOf(file!)), isOwnScope: !isSourced };
  const written = program.includes('/') ? readText(program) : undefined;
  if (written !== undefined && !/^#!(?!.*sh\b)/.test(written))
    return { script: written, parameters: [program, ...args], isOwnScope: true };
  if (/^(at|batch|crontab)$/.test(base)) {
    const script = readScheduled(base, args, input, (path) => readText(path) ?? readFileIn(folders, path));
    return script === undefined ? undefined : own(script);
  }
  if (isShell || /^(script|su|flock|runuser)$/.test(base)) {
    const at = args.findIndex(isCommandOption);
    if (at !== -1) return { script: args[at + 1] ?? '', parameters: args.slice(at + 2), isOwnScope: true };
    const joined = args.find((arg) => /^--command=/.test(arg));
    if (joined !== undefined)
      return { script: joined.slice(joined.indexOf('=') + 1), parameters: [], isOwnScope: true };
    // Without a file, a shell reads its commands.
    const operands = args.filter((arg) => !/^[-+]./.test(arg));
    const readsInput =
      operands.length === 0 || args.includes('-s') || operands[0] === '-' || operands[0] === '/dev/stdin';
    if (!isShell || input === undefined || !readsInput) return undefined;
    return { script: input, parameters: ['sh', ...(args.includes('-s') ? operands : [])], isOwnScope: true };
  }
  if (base === 'eval') return { script: args.join(' '), parameters: [], isOwnScope: false };
  if (isSourced && /^\/dev\/(stdin|fd\/0)$/.test(args[0] ?? '') && input !== undefined)
    return { script: input, parameters: [], isOwnScope: false };
  if (base === 'trap') return { script: args[0] ?? '', parameters: [], isOwnScope: true };
  if (base === 'watch' || base === 'entr')
    return { script: args.filter((arg) => !arg.startsWith('-')).join(' '), parameters: [], isOwnScope: true };
  const at = base === 'ssh' ? args.findIndex((arg) => /^(\w+@)?(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(arg)) : -1;
  return at === -1 ? undefined : { script: args.slice(at + 1).join(' '), parameters: [], isOwnScope: true };
}

function readFileIn(folders: readonly string[], path: string): string | undefined {
  const texts = folders.map((folder) => readRegularFile(resolve(folder, path), shellTextMax));
  return texts.find((text) => text !== undefined)?.toString('utf8');
}

function isCommandOption(arg: string): boolean {
  return /^-\w*c$/.test(arg) || /^--(command|session-command)$/.test(arg);
}

/** The commands for `crontab`, `at` or `batch`: from the input, a file that the script writes, or an existing file. */
function readScheduled(
  base: string,
  args: readonly string[],
  input: string | undefined,
  readText: (path: string) => string | undefined,
): string | undefined {
  const isTable = base === 'crontab';
  const [, joined] = isTable ? [] : (/^-f(.+)$/s.exec(args.find((arg) => /^-f./.test(arg)) ?? '') ?? []);
  const named = isTable
    ? args.find((arg, at) => !arg.startsWith('-') && args[at - 1] !== '-u')
    : (joined ?? args[args.indexOf('-f') + 1]);
  const isFile = isTable || joined !== undefined || args.includes('-f');
  const text = isFile && named !== undefined && !/^(-|\/dev\/stdin)$/.test(named) ? readText(named) : input;
  if (!isTable || text === undefined) return text;
  // The first percent sign ends the command; the text behind it is its input.
  return text.replaceAll(/^[ \t]*(?:@\w+|(?:\S+[ \t]+){4}\S+)[ \t]/gm, '').replaceAll(/^([^#%\n]*)%.*$/gm, '$1');
}

export function isShellProgram(program: string): boolean {
  return /^(ba|da|z|k|mk|a|fi|ya|r|rba)?sh$/.test(basename(program));
}

/** Whether a command can be taken as successful. */
export function isSuccessful(program: string): boolean {
  return /^(mkdir|true|:|export|set|echo|printf|declare|local|readonly|shopt|umask|trap|)$/.test(program);
}

const passThrough = /^(cat|tee|head|tail|sort|uniq|grep|tac|nl|sponge|column)$/;

/** The output of a command, if it is known: a text, the names among its arguments, or what it reads. */
export function findOutput(
  [program = '', ...args]: readonly string[],
  input: string | undefined,
  folders: readonly string[],
): string | undefined {
  const base = basename(program);
  const operands = args.filter((arg) => !arg.startsWith('-'));
  if (base === 'echo') {
    const text = operandsOfEcho(args).join(' ');
    return `${args.some((arg) => /^-\w*e/.test(arg)) ? decodeEscapes(text) : text}\n`;
  }
  if (base === 'printf') return formatText(args);
  if (base === 'pwd') return `${folders.join('\n')}\n`;
  if (base === 'ls') return `${(operands.length === 0 ? ['*'] : operands).join('\n')}\n`;
  if (base === 'basename') return `${basename(operands[0] ?? '', operands[1] ?? '')}\n`;
  if (base === 'dirname') return `${dirname(operands[0] ?? '')}\n`;
  if (base === 'realpath' || base === 'readlink') return `${operands.join('\n')}\n`;
  if (base === 'which' || base === 'type') return `${operands.join('\n')}\n`;
  if (base === 'git') return findGitOutput(args, folders);
  if (input === undefined) return isSilent.test(base) ? '' : undefined;
  if (base === 'base64' && args.some((arg) => /^(-d|-D|--decode)$/.test(arg)))
    return Buffer.from(input, 'base64').toString('utf8');
  if (/^[gm]?awk$/.test(base)) return selectColumn(args, input);
  if (base === 'grep') return selectLines(args, operands[0] ?? '', input);
  if (base === 'rev') return input.split('\n').map(reverse).join('\n');
  if (passThrough.test(base) && (operands.length === 0 || base === 'tee' || /^(grep|head|tail)$/.test(base)))
    return input;
  return isSilent.test(base) ? '' : undefined;
}

/** The column that `awk '{print $N}'` prints. */
function selectColumn(args: readonly string[], input: string): string | undefined {
  const program = args.at(-1) ?? '';
  if (program.length > columnProgramMax) return undefined;
  const [, column] = /^\s*(?:\/[^/]*\/)?\s*\{\s*print\s+\$(\d+);?\s*\}\s*$/.exec(program) ?? [];
  if (column === undefined) return undefined;
  const select = (line: string) => (column === '0' ? line : (line.trim().split(/\s+/)[Number(column) - 1] ?? ''));
  return input.split('\n').map(select).join('\n');
}

/** The longest program of `awk` that may print a column and nothing else. */
const columnProgramMax = 100;

/** The lines that `grep` prints; all of them if its pattern is no plain text. */
function selectLines(args: readonly string[], pattern: string, input: string): string {
  const text = pattern.replaceAll(/\[(\w)\]/g, '$1');
  const isPlain = /^[\w /@:-]+$/.test(text) && !args.some((arg) => /^(-\w*[vefc]|--)/.test(arg));
  if (!isPlain) return input;
  const isFolded = args.some((arg) => /^-\w*i/.test(arg));
  const fold = (line: string) => (isFolded ? line.toLowerCase() : line);
  const lines = input.split('\n').filter((line) => fold(line).includes(fold(text)));
  return lines.map((line) => `${line}\n`).join('');
}

/** Commands that print nothing. */
const isSilent = /^(|cd|pushd|popd|export|set|local|declare|readonly|true|:|mkdir|touch|read|unset|test|\[)$/;

function operandsOfEcho(args: readonly string[]): readonly string[] {
  return args.slice(
    Math.max(
      0,
      args.findIndex((arg) => !/^-[neE]+$/.test(arg)),
    ),
  );
}

function reverse(line: string): string {
  return [...line].reverse().join('');
}

/** The text of `printf`. */
export function formatText([format = '', ...values]: readonly string[]): string {
  if (format === '--') return formatText(values);
  const marks = format.match(/%[-\d.]*[sbdiq]/g)?.length ?? 0;
  const rounds = marks === 0 ? 1 : Math.max(1, Math.ceil(values.length / marks));
  let at = 0;
  const fill = (mark: string) => (mark === '%%' ? '%' : (values[at++] ?? ''));
  return Array.from({ length: rounds }, () => decodeEscapes(format).replaceAll(/%[-\d.]*[sbdiq]|%%/g, fill)).join('');
}

/** The folder of the repository, and the names that `git ls-files` was given. */
function findGitOutput(args: readonly string[], folders: readonly string[]): string | undefined {
  if (args[0] === 'ls-files') {
    const names = args.slice(1).filter((arg) => !arg.startsWith('-'));
    return `${(names.length === 0 ? ['*'] : names).join('\n')}\n`;
  }
  if (args[0] !== 'rev-parse' || args[1] !== '--show-toplevel') return undefined;
  return findRepository(folders[0] ?? '/') ?? unknownOutput;
}

/** The folder of the repository that a folder belongs to. */
export function findRepository(folder: string): string | undefined {
  let at = resolve(folder);
  for (let step = 0; step < pathDepthMax; step++) {
    if (existsSync(join(at, '.git'))) return at;
    if (dirname(at) === at) return undefined;
    at = dirname(at);
  }
  return undefined;
}

/** A word as a shell writes it in quotes. */
export function quoteWord(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
