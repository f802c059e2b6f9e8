/**
 * Reads the simple commands of a shell script in their order, as far as that is possible without running it: variables,
 * loops, functions, subshells, pipes, substitutions, here-documents, and scripts inside `sh -c`, `eval` and `xargs`.
 */

import { resolve } from 'node:path';
import { shellCommandsMax, shellDepthMax, shellNestingMax, shellTextMax } from '../core/limits.ts';
import { appendInput, applyBuiltin, assignVariable, isFolderBuiltin, setParameters } from './shell-builtins.ts';
import { type Alternatives, fieldMark } from './shell-expansion.ts';
import { findInnerScript, findOutput, unwrapCommand } from './shell-programs.ts';
import {
  findRecordedOutput,
  joinOutputs,
  type Reading,
  recordOutput,
  type ShellPlace,
  type VisitCommand,
} from './shell-reading.ts';
import { forkScope, listMadeFolders, mergeScopes, type ShellScope } from './shell-scope.ts';
import { combineWords, fieldsOf, type ShellToken, ShellWords } from './shell-words.ts';

/** Visits the commands of a script. Returns false if the script is too long or too deep to be read as a whole. */
export function visitShellCommands(script: string, { cwd, variables }: ShellPlace, visit: VisitCommand): boolean {
  const counts = { commands: 0, characters: 0, isComplete: true };
  const reading: Reading = { visit, environment: variables, made: new Set(), outputs: new Map(), ...counts };
  const scope: ShellScope = { folders: [cwd], previous: [cwd], stack: [], variables: new Map(), functions: new Map() };
  readScript(script, { reading, scope, depth: 0, input: undefined });
  return reading.isComplete;
}

interface ScriptPlace {
  readonly reading: Reading;
  readonly scope: ShellScope;
  readonly depth: number;
  /** The text that commands without an input of their own read. */
  readonly input: string | undefined;
}

/** Reads a script; returns its output, if it is known, and the scope after it. */
function readScript(script: string, place: ScriptPlace): { output: string | undefined; scope: ShellScope } {
  const { reading, depth, scope } = place;
  reading.characters += script.length;
  if (depth > shellDepthMax || reading.characters > shellTextMax * 2 || script.length > shellTextMax) {
    reading.isComplete = false;
    return { output: undefined, scope };
  }
  const reader = new ScriptReader(script.replaceAll(fieldMark, ''), place);
  reader.readList(noEnds);
  return reader;
}

/** The number of the first path of a process substitution. */
const processPaths = 63_000;

const noEnds: ReadonlySet<string> = new Set();
const endsOf = (...words: readonly string[]): ReadonlySet<string> => new Set(words);

class ScriptReader {
  /** The output of all commands so far, as far as it is known. */
  output: string | undefined = '';
  private readonly words: ShellWords;
  private readonly reading: Reading;
  private readonly depth: number;
  scope: ShellScope;
  private input: string | undefined;
  private nesting = 0;
  /** Whether the commands of this list may have failed, so that later ones ran in another scope. */
  private isUnsure = false;

  constructor(script: string, { reading, scope, depth, input }: ScriptPlace) {
    this.reading = reading;
    this.scope = scope;
    this.depth = depth;
    this.input = input;
    this.words = new ShellWords(script, {
      variable: (name) => this.scope.variables.get(name) ?? this.readEnvironment(name),
      substituteProcess: (inner) => this.substituteProcess(inner),
      substitute: (inner) => this.nest(inner, forkScope(this.scope)).output,
      overflow: () => this.stop(),
    });
  }

  private readEnvironment(name: string): Alternatives | undefined {
    if (name === 'PWD') return this.scope.folders;
    if (name === 'OLDPWD') return this.scope.previous;
    const value = Object.hasOwn(this.reading.environment, name) ? this.reading.environment[name] : undefined;
    return value === undefined ? undefined : [value];
  }

  private substituteProcess(script: string): string {
    const { outputs } = this.reading;
    const path = `/dev/fd/${processPaths - outputs.size}`;
    outputs.set(path, this.nest(script, forkScope(this.scope)).output ?? '');
    return path;
  }

  private stop(): void {
    this.reading.isComplete = false;
    this.words.at = this.words.script.length;
  }

  private nest(script: string, scope: ShellScope, input = this.input) {
    return readScript(script, { reading: this.reading, scope, depth: this.depth + 1, input });
  }

  /** Reads commands up to one of the reserved words, a closing parenthesis or the end; returns what ended the list. */
  readList(ends: ReadonlySet<string>): string | undefined {
    if (++this.nesting > shellNestingMax) this.stop();
    for (;;) {
      const next = this.words.peek();
      if (next === undefined || next === ')' || ends.has(next)) {
        if (next !== undefined) this.words.at += next.length;
        // A closing parenthesis that belongs to nothing ends nothing.
        if (next !== ')' || ends.has(')') || this.nesting > 1) {
          this.nesting--;
          return next;
        }
      } else if (/^(\n|;|&|;;|;&|;;&|\|\|?|&&|\|&)$/.test(next)) this.words.next();
      else this.readAndOr();
    }
  }

  /** Reads pipelines that are joined by `&&` and `||`. */
  private readAndOr(): void {
    const before = forkScope(this.scope);
    this.isUnsure = false;
    for (;;) {
      const isSure = this.readPipeline();
      const next = this.words.peek();
      if (next === '&') this.scope = before; // A command in the background has a scope of its own.
      if (next !== '&&' && next !== '||') break;
      this.words.next();
      const isExit = next === '||' && /^(exit|return)$/.test(this.words.peek() ?? '');
      if (isExit) this.isUnsure = false;
      else if (next === '||' || !isSure) this.isUnsure = true;
    }
    if (this.isUnsure) this.scope = mergeScopes(this.scope, before);
  }

  /** Reads commands that are joined by pipes; returns whether they surely succeed. */
  private readPipeline(): boolean {
    const before = forkScope(this.scope);
    const { output: outputBefore, input: inputBefore } = this;
    let isPiped = false;
    for (;;) {
      this.output = '';
      const isSure = this.readCommand();
      const next = this.words.peek();
      isPiped ||= next === '|' || next === '|&';
      if (isPiped) this.scope = forkScope(before);
      if (next !== '|' && next !== '|&') {
        this.output = joinOutputs(outputBefore, this.output);
        this.input = inputBefore;
        return isSure && !isPiped;
      }
      this.words.next();
      while (this.words.peek() === '\n') this.words.next();
      this.input = this.output;
    }
  }

  /** Reads a simple or compound command; returns whether it surely succeeds. */
  private readCommand(): boolean {
    const start = this.words.at;
    const isCompound = this.readCompound();
    if (!isCompound) return this.readSimple();
    const end = this.words.at;
    const { input } = this.readRedirects();
    if (input === undefined || this.reading.commands >= shellCommandsMax) return false;
    // The text that a loop reads stands behind the loop.
    const { at } = this.words;
    this.reading.characters += end - start;
    const before = this.input;
    [this.input, this.words.at] = [input, start];
    this.readCompound();
    [this.input, this.words.at] = [before, at];
    return false;
  }

  private readCompound(): boolean {
    const { words } = this;
    const next = words.peek() ?? '';
    if (next === '(') {
      const arithmetic = words.readArithmetic();
      if (arithmetic !== undefined) words.expandText(arithmetic);
      if (arithmetic !== undefined) return true;
      words.next();
      this.inScope(forkScope(this.scope), () => this.readList(endsOf(')')));
      return true;
    }
    const [, name] =
      /^(?:function\s+)?([\w.:-]+)\s*\(\s*\)\s*/.exec(words.script.slice(words.at, words.at + 120)) ?? [];
    if (name !== undefined || next === 'function') return this.readFunction();
    if (next === '[[') return this.readTest();
    if (!/^(if|while|until|for|select|case|\{|!|time|coproc)$/.test(next)) return false;
    words.at += next.length;
    if (next === '{') this.readList(endsOf('}'));
    else if (next === 'if') this.readIf();
    else if (next === 'while' || next === 'until') this.readLoop();
    else if (next === 'for' || next === 'select') this.readFor();
    else if (next === 'case') this.readCase();
    else this.readCommand();
    return true;
  }

  private inScope(scope: ShellScope, read: () => void): ShellScope {
    const before = this.scope;
    this.scope = scope;
    read();
    const after = this.scope;
    this.scope = before;
    return after;
  }

  /** Reads a part that may or may not run. */
  private maybe(read: () => string | undefined): string | undefined {
    let end: string | undefined;
    const after = this.inScope(forkScope(this.scope), () => {
      end = read();
    });
    this.scope = mergeScopes(this.scope, after);
    return end;
  }

  private readIf(): void {
    this.readList(endsOf('then'));
    const ends = endsOf('elif', 'else', 'fi');
    for (let end = this.maybe(() => this.readList(ends)); end === 'elif' || end === 'else'; ) {
      if (end === 'elif') this.readList(endsOf('then'));
      end = this.maybe(() => this.readList(ends));
    }
  }

  private readLoop(): void {
    this.readList(endsOf('do'));
    this.maybe(() => this.readList(endsOf('done')));
  }

  private readFor(): void {
    const { words } = this;
    if (words.peek() === '(') words.readArithmetic();
    else {
      const name = words.next()?.raw ?? '';
      const values: string[] = [];
      if (words.peek() === 'in') {
        words.next();
        while (!/^(\n|;)$/.test(words.peek() ?? ';'))
          values.push(...(words.next()?.texts ?? []).flatMap((text) => text.split(fieldMark)));
      } else values.push(...(this.scope.variables.get('@')?.[0]?.split(fieldMark) ?? []));
      this.scope.variables.set(name, values.length === 0 ? [`$${name}`] : values);
    }
    this.readList(endsOf('do', '{'));
    this.maybe(() => this.readList(endsOf('done', '}')));
  }

  private readCase(): void {
    const { words } = this;
    while (!/^(in)?$/.test(words.peek() ?? '')) words.next();
    words.next();
    for (let end: string | undefined = ''; end !== 'esac' && end !== undefined; ) {
      while (words.peek() === '\n' || words.peek() === '(') words.next();
      if (words.peek() === 'esac') {
        words.next();
        return;
      }
      while (!/^\)?$/.test(words.peek() ?? '')) words.next(); // The patterns.
      words.next();
      end = this.maybe(() => this.readList(endsOf(';;', ';&', ';;&', 'esac')));
    }
  }

  private readTest(): true {
    while (!/^(\]\])?$/.test(this.words.peek() ?? '')) this.words.next();
    this.words.next();
    return true;
  }

  /** Reads a function: its body now, with unknown parameters, and again with those of each call. */
  private readFunction(): true {
    const { words } = this;
    if (words.peek() === 'function') words.next();
    const name = words.next()?.raw ?? '';
    while (/^[()\n]$/.test(words.peek() ?? '') && !(words.peek() === '(' && words.script[words.at + 1] !== ')'))
      words.next();
    const start = words.at;
    this.inScope(forkScope(this.scope), () => this.readCompound());
    this.scope.functions.set(name, words.script.slice(start, words.at));
    return true;
  }

  /** Reads the redirections behind a compound command. */
  private readRedirects(): { readonly input: string | undefined } {
    let input: string | undefined;
    while (/^[<>\d&]/.test(this.words.peek() ?? '') && !/^&&?$/.test(this.words.peek()!)) {
      const token = this.words.next();
      if (token?.kind === 'here') input = token.texts[0];
      else if (token?.kind === 'redirect') {
        const target = this.words.next();
        if (token.raw.includes('>') && target !== undefined) {
          const { output } = this;
          this.execute([], fieldsOf(target), undefined);
          recordOutput(this.reading, this.scope.folders, fieldsOf(target), output);
        }
      } else break;
    }
    return { input };
  }

  private readSimple(): boolean {
    const { words } = this;
    const tokens: ShellToken[] = [];
    const writes: string[] = [];
    let input: string | undefined;
    for (let next = words.peek(); next !== undefined; next = words.peek()) {
      if (/^(\n|;|;;|;&|;;&|&&?|\|\|?|\|&|\))$/.test(next) && !/^&>/.test(words.script.slice(words.at, words.at + 2)))
        break;
      if (next === '(') {
        this.readArray(tokens);
        continue;
      }
      const token = words.next();
      if (token === undefined) break;
      if (token.kind === 'here') input = token.texts.join('\n');
      else if (token.kind === 'word') tokens.push(token);
      else if (token.kind === 'redirect') {
        const target = words.next();
        if (target?.kind === 'word' && token.raw !== '<' && token.raw !== '<&') writes.push(...fieldsOf(target));
      }
    }
    let isSure = true;
    for (const fields of combineWords(tokens)) isSure = this.execute(fields, writes, input) && isSure;
    if (tokens.length === 0) this.execute([], writes, input);
    return isSure;
  }

  /** Reads `NAME=(…)`; other parentheses inside a command are skipped. */
  private readArray(tokens: ShellToken[]): void {
    const [, name] = /^(\w+)\+?=$/.exec(tokens.at(-1)?.raw ?? '') ?? [];
    this.words.next();
    const values: string[] = [];
    while (!/^\)?$/.test(this.words.peek() ?? '')) {
      const token = this.words.next();
      if (token?.kind === 'word') values.push(...fieldsOf(token));
    }
    this.words.next();
    if (name === undefined) return;
    tokens.pop();
    this.scope.variables.set(name, [values.join(fieldMark)]);
  }

  /** Takes one command: assignments, builtins, inner scripts, and the visitor. Returns whether it surely succeeds. */
  private execute(allWords: readonly string[], writes: readonly string[], here: string | undefined): boolean {
    const { reading } = this;
    if (++reading.commands > shellCommandsMax) {
      this.stop();
      return false;
    }
    const input = here ?? this.input;
    const { words, assigned, appended, replaced } = unwrapCommand(allWords);
    if (words.length === 0) for (const [name, value] of assigned) assignVariable(this.scope, name, value);
    const full = appended && input !== undefined ? appendInput(words, input, replaced) : words;
    const { folders } = this.scope;
    const run = (script: string) => void this.nest(script, forkScope(this.scope), undefined);
    const variable = (name: string) => this.scope.variables.get(name) ?? [];
    const readText = findRecordedOutput.bind(undefined, reading, folders);
    const output = reading.visit({ words: full, writes, folders, input, assigned, variable, readText, run });
    for (const made of listMadeFolders(full)) for (const folder of folders) reading.made.add(resolve(folder, made));
    const { scope, isSure } = applyBuiltin(this.scope, full, input, reading);
    this.scope = scope;
    if (!isSure && isFolderBuiltin(full[0]) && !scope.variables.has('errexit')) this.isUnsure = true;
    this.runInner(full, input);
    const known = findOutput(full, input, folders) ?? output;
    recordOutput(reading, folders, full[0] === 'tee' ? [...writes, ...full.slice(1)] : writes, known);
    this.output = joinOutputs(this.output, known);
    return isSure;
  }

  /** Reads the script that a command runs: a function, `sh -c`, `eval`, or the text that a shell reads. */
  private runInner(words: readonly string[], input: string | undefined): void {
    const body = this.scope.functions.get(words[0] ?? '');
    if (body !== undefined && this.depth < shellDepthMax) {
      setParameters(this.scope, words);
      this.scope = this.nest(body, this.scope).scope;
      return;
    }
    const { folders } = this.scope;
    const inner = findInnerScript(words, input, (path) => findRecordedOutput(this.reading, folders, path), folders);
    if (inner === undefined) return;
    const scope = inner.isOwnScope ? forkScope(this.scope) : this.scope;
    if (inner.parameters.length > 0) setParameters(scope, inner.parameters);
    const after = this.nest(inner.script, scope, undefined).scope;
    if (!inner.isOwnScope) this.scope = after;
  }
}
