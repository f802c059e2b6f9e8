/**
 * Splits a shell script into its simple commands, as far as that is possible without running it: quotes, `;`, pipes,
 * substitutions, redirections, here-documents, and scripts inside `sh -c`, `eval` and similar commands.
 */

import { shellCommandsMax, shellDepthMax, shellTextMax } from '../core/limits.ts';

/** A simple command. Variables with known values are replaced; others stay as they are. */
export interface ShellCommand {
  /** The program and its arguments, without wrappers such as `env` and `sudo`. */
  readonly words: readonly string[];
  /** The files that the command writes by redirection. */
  readonly writes: readonly string[];
  /** The folder that a `cd` before it named, relative to the first one. */
  readonly folder: string;
}

type Variables = Record<string, string | undefined>;

/** Lists the simple commands of a script, at most 1,000. */
export function listShellCommands(script: string, variables: Readonly<Variables>): readonly ShellCommand[] {
  const commands: ShellCommand[] = [];
  collect(script.slice(0, shellTextMax), { commands, variables: { ...variables }, folder: '', depth: 0 });
  return commands;
}

interface Collection {
  readonly commands: ShellCommand[];
  readonly variables: Variables;
  folder: string;
  readonly depth: number;
}

function collect(script: string, collection: Collection): void {
  if (collection.depth > shellDepthMax) return;
  const words: string[] = [];
  const writes: string[] = [];
  const finish = () => {
    if (words.length > 0 || writes.length > 0) addCommand(words.splice(0), writes.splice(0), collection);
  };
  const heredocs: string[] = [];
  const tokens = createTokenizer(script, collection);
  for (let token = tokens.next(); token !== undefined; token = tokens.next()) {
    if (collection.commands.length >= shellCommandsMax) return;
    if (token.kind === 'word') words.push(token.text);
    else if (token.kind === 'redirect') {
      const target = tokens.next();
      if (target?.kind !== 'word') continue;
      if (token.text.includes('<<')) heredocs.push(target.text);
      else if (token.text.includes('>')) writes.push(target.text);
    } else {
      const isShell = isShellProgram(words[0] ?? '') || words.includes('bash') || words.includes('sh');
      finish();
      if (token.text !== '\n') continue;
      for (const end of heredocs.splice(0)) {
        const body = tokens.readUntilLine(end);
        if (isShell) collect(body, nested(collection));
      }
    }
  }
  finish();
}

function nested(collection: Collection): Collection {
  return { ...collection, depth: collection.depth + 1 };
}

interface Token {
  readonly kind: 'word' | 'separator' | 'redirect';
  readonly text: string;
}

/** Reads the tokens of a script; scripts inside substitutions are collected on the way. */
function createTokenizer(script: string, collection: Collection) {
  let at = 0;

  function next(): Token | undefined {
    while (/[^\S\n]/.test(script[at] ?? '') || script.startsWith('\\\n', at)) at += script[at] === '\\' ? 2 : 1;
    if (at >= script.length) return undefined;
    if (script[at] === '#') {
      while (at < script.length && script[at] !== '\n') at++;
      return next();
    }
    const [redirect] = /^\d*(<<<|<<-?|&>>?|>>|>\||>&|<>|<&|>|<(?!\())/.exec(script.slice(at, at + 8)) ?? [];
    if (redirect !== undefined) {
      at += redirect.length;
      // `2>&1` names no file.
      if (/[<>]&$/.test(redirect) && /[\d-]/.test(script[at] ?? '')) {
        at++;
        return next();
      }
      return { kind: 'redirect', text: redirect === '<<<' ? '<' : redirect };
    }
    const [separator] = /^(\n|;;?|&&?|\|[|&]?|[(){}](?=\s|$|\()|[()])/.exec(script.slice(at, at + 3)) ?? [];
    if (separator !== undefined) {
      at += separator.length;
      return { kind: 'separator', text: separator };
    }
    const start = at;
    const text = readWord();
    if (at > start) return { kind: 'word', text };
    at++; // A process substitution: its script follows in parentheses.
    return next();
  }

  function readWord(): string {
    let word = '';
    while (at < script.length && !/[\s;&|<>()]/.test(script[at]!)) {
      const char = script[at]!;
      if (char === '\\') {
        word += script[at + 1] === '\n' ? '' : (script[at + 1] ?? '');
        at += 2;
      } else if (char === "'" || script.startsWith("$'", at)) {
        at += char === '$' ? 2 : 1;
        const end = endOf("'");
        word += script.slice(at, end);
        at = end + 1;
      } else if (char === '"') word += readDoubleQuoted();
      else if (char === '$' || char === '`') word += readExpansion();
      else {
        word += char;
        at++;
      }
    }
    return word;
  }

  function readDoubleQuoted(): string {
    let text = '';
    at++;
    while (at < script.length && script[at] !== '"') {
      if (script[at] === '\\') {
        text += /["\\$`]/.test(script[at + 1] ?? '') ? script[at + 1] : script.slice(at, at + 2);
        at += 2;
      } else if (script[at] === '$' || script[at] === '`') text += readExpansion();
      else text += script[at++];
    }
    at++;
    return text;
  }

  function readExpansion(): string {
    if (script[at] === '`') {
      const start = ++at;
      at = endOf('`');
      collect(script.slice(start, at++), nested(collection));
      return '$()';
    }
    if (script.startsWith('$(', at)) {
      const start = at + 2;
      at = endOfParentheses(start);
      collect(script.slice(start, at++), nested(collection));
      return '$()';
    }
    const [text, braced, plain] = /^\$(?:\{(\w+)[^}]*\}|(\w+))/.exec(script.slice(at, at + 200)) ?? [];
    if (text === undefined) {
      at++;
      return '$';
    }
    at += text.length;
    return collection.variables[(braced ?? plain)!] ?? text;
  }

  function endOf(mark: string): number {
    const end = script.indexOf(mark, at);
    return end === -1 ? script.length : end;
  }

  function endOfParentheses(start: number): number {
    let open = 1;
    for (let end = start; end < script.length; end++) {
      if (script[end] === '(') open++;
      else if (script[end] === ')' && --open === 0) return end;
    }
    return script.length;
  }

  return {
    next,
    /** The lines up to one that is the end of a here-document. */
    readUntilLine(end: string): string {
      const start = at;
      while (at < script.length) {
        const lineEnd = script.indexOf('\n', at) === -1 ? script.length : script.indexOf('\n', at);
        const line = script.slice(at, lineEnd);
        const lineStart = at;
        at = lineEnd + 1;
        if (line.trim() === end) return script.slice(start, lineStart);
      }
      return script.slice(start);
    },
  };
}

const keywords = new Set(['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', '{', '}', 'time', 'fi', 'done']);
const wrappers =
  /^(env|sudo|doas|nohup|nice|ionice|timeout|setsid|exec|command|builtin|xargs|stdbuf|unbuffer|chronic)$/;

function addCommand(allWords: readonly string[], writes: readonly string[], collection: Collection): void {
  const { commands, variables } = collection;
  let words = allWords;
  for (let step = 0; step < 50; step++) {
    const [first = ''] = words;
    const [, name, value] = /^(\w+)=(.*)$/s.exec(first) ?? [];
    if (name !== undefined) {
      if (words.length === 1) variables[name] = value;
      words = words.slice(1);
    } else if (keywords.has(first)) words = words.slice(1);
    else if (wrappers.test(baseName(first))) words = unwrap(words);
    else break;
  }
  const [program = '', ...args] = words;
  const base = baseName(program);
  if (base === 'cd' || base === 'pushd') {
    const target = args.find((arg) => !arg.startsWith('-')) ?? variables.HOME ?? '';
    collection.folder = target.startsWith('/') ? target : `${collection.folder || '.'}/${target}`;
  }
  commands.push({ words, writes, folder: collection.folder });
  const script = findInnerScript(base, args);
  if (script !== undefined) collect(script, nested(collection));
}

/** Removes a wrapper, its options and its own values. */
function unwrap([wrapper = '', ...args]: readonly string[]): readonly string[] {
  const name = baseName(wrapper);
  const valueOptions = /^-(u|n|p|k|s|I|L|P|d|E|a|C|g|D|h|S)$/;
  let at = 0;
  while (at < args.length) {
    const arg = args[at]!;
    if (name === 'env' && (arg === '-S' || arg === '--split-string')) return (args[at + 1] ?? '').split(/\s+/);
    if (/^\w+=/.test(arg)) at++;
    else if (arg.startsWith('-')) at += valueOptions.test(arg) ? 2 : 1;
    else break;
  }
  if (name === 'timeout') at++;
  return args.slice(at);
}

/** The script that a command runs: `sh -c SCRIPT`, `eval`, `script -c`, `find -exec`, `watch`. */
function findInnerScript(base: string, args: readonly string[]): string | undefined {
  if (isShellProgram(base) || base === 'script' || base === 'su' || base === 'ssh-agent') {
    const at = args.findIndex((arg) => /^-\w*c$/.test(arg) || arg === '--command');
    return at === -1 ? undefined : args[at + 1];
  }
  if (base === 'eval' || base === 'watch') return args.join(' ');
  if (base !== 'find') return undefined;
  const at = args.findIndex((arg) => /^-(exec|execdir|ok|okdir)$/.test(arg));
  return at === -1
    ? undefined
    : args
        .slice(at + 1)
        .map(quoteWord)
        .join(' ');
}

export function isShellProgram(program: string): boolean {
  return /^(ba|da|z|k|mk|a|fi)?sh$/.test(baseName(program));
}

/** A word as a shell writes it in quotes. */
export function quoteWord(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
