/** Reads the tokens of a shell script one after another; expansions take the values of the moment. */

import {
  type Alternatives,
  appendAlternatives,
  applyOperator,
  decodeEscapes,
  expandBraces,
  fieldMark,
  markBrace,
} from './shell-expansion.ts';

/** What the reader of words asks the reader of commands. */
export interface ShellValues {
  /** The value of a variable or parameter; undefined if it is not known. */
  variable(name: string): Alternatives | undefined;
  /** Reads a nested script; returns its output, undefined if it is not known. */
  substitute(script: string): string | undefined;
  /** Reads the script of a process substitution; returns the path that stands for it. */
  substituteProcess(script: string): string;
  /** Called if a word has more alternatives than can be followed. */
  overflow(): void;
}

export interface ShellToken {
  readonly kind: 'word' | 'separator' | 'redirect' | 'here';
  /** The operator, or the word as it is written. */
  readonly raw: string;
  /** The alternatives of a word; the text of a here-document. */
  readonly texts: Alternatives;
}

/** The output of a program that is not known. */
export const unknownOutput = '$()';

const redirectOperator = /^(?:\d+|\{\w+\})?(<<<|<<-?|&>>?|>>|>\||>&|<>|<&|>(?!\()|<(?!\())/;
const separatorOperator = /^(\n|;;&|;&|;;|;|&&|&|\|\||\|&|\||[()])/;

export class ShellWords {
  readonly script: string;
  at = 0;
  private readonly values: ShellValues;
  /** The end of the here-documents of this line; the next line starts there. */
  private hereEnd = 0;

  constructor(script: string, values: ShellValues) {
    this.script = script;
    this.values = values;
  }

  /** The next token as it is written, or its beginning; nothing is expanded. */
  peek(): string | undefined {
    this.skipBlanks();
    const rest = this.script.slice(this.at, this.at + 40);
    if (rest === '') return undefined;
    const [separator] = separatorOperator.exec(rest) ?? [];
    return separator ?? /^[^\s;&|<>()]+/.exec(rest)?.[0] ?? rest[0];
  }

  next(): ShellToken | undefined {
    const { script } = this;
    for (;;) {
      this.skipBlanks();
      if (this.at >= script.length) return undefined;
      const [redirect, operator] = redirectOperator.exec(script.slice(this.at, this.at + 40)) ?? [];
      if (redirect === undefined) return this.readSeparator() ?? this.readWordToken();
      this.at += redirect.length;
      // `2>&1` names no file.
      const [copy] = /^(?:\d+-?|-)(?=[\s;&|<>()]|$)/.exec(script.slice(this.at, this.at + 12)) ?? [];
      if (!operator!.endsWith('&') || copy === undefined) return this.readRedirect(operator!);
      this.at += copy.length;
    }
  }

  private readSeparator(): ShellToken | undefined {
    const [separator] = separatorOperator.exec(this.script.slice(this.at, this.at + 3)) ?? [];
    if (separator === undefined) return undefined;
    this.at += separator.length;
    if (separator === '\n' && this.hereEnd > this.at) this.at = this.hereEnd;
    return { kind: 'separator', raw: separator, texts: [separator] };
  }

  private readWordToken(): ShellToken {
    const start = this.at;
    const texts = this.readWord();
    if (this.at === start) this.at++; // No word begins with this character.
    return { kind: 'word', raw: this.script.slice(start, this.at), texts };
  }

  /** Skips blanks, continued lines and comments. */
  private skipBlanks(): void {
    const { script } = this;
    for (;;) {
      if (/[^\S\n]/.test(script[this.at] ?? '')) this.at++;
      else if (script.startsWith('\\\n', this.at)) this.at += 2;
      else if (script[this.at] === '#') {
        const end = script.indexOf('\n', this.at);
        this.at = end === -1 ? script.length : end;
      } else return;
    }
  }

  /** The target of a redirection follows as a word; a here-document and a here-string are read at once. */
  private readRedirect(operator: string): ShellToken {
    if (!operator.startsWith('<<')) return { kind: 'redirect', raw: operator, texts: [] };
    this.skipBlanks();
    const target = this.readWordToken();
    const texts = operator === '<<<' ? target.texts : [this.readHereDocument(target, operator === '<<-')];
    return { kind: 'here', raw: operator, texts };
  }

  private readHereDocument({ raw, texts }: ShellToken, isIndented: boolean): string {
    const { script } = this;
    const lineEnd = script.indexOf('\n', this.at);
    if (lineEnd === -1) return '';
    const start = Math.max(this.hereEnd, lineEnd + 1);
    let body = script.slice(start);
    let at = start;
    this.hereEnd = script.length;
    while (at < script.length) {
      const end = script.indexOf('\n', at) === -1 ? script.length : script.indexOf('\n', at);
      const line = script.slice(at, end);
      if ((isIndented ? line.replace(/^\t+/, '') : line) === texts[0]) {
        body = script.slice(start, at);
        this.hereEnd = end + 1;
        break;
      }
      at = end + 1;
    }
    return /['"\\]/.test(raw) ? body : this.expandText(body);
  }

  /** The text of an unquoted here-document, whose expansions are made. */
  expandText(text: string): string {
    if (!/[$`]/.test(text)) return text;
    const words = new ShellWords(text, this.values);
    return words.readDoubleQuoted(false)[0]!;
  }

  private readWord(): Alternatives {
    const { script } = this;
    let word: Alternatives = [''];
    const append = (values: Alternatives) => {
      word = this.combine(word, values);
    };
    while (this.at < script.length) {
      const char = script[this.at]!;
      if (/[<>]/.test(char) && script[this.at + 1] === '(') {
        this.at += 1;
        append([this.values.substituteProcess(this.readParentheses())]);
      } else if (/[\s;&|<>()]/.test(char)) break;
      else if (char === '\\') {
        append([script[this.at + 1] === '\n' ? '' : (script[this.at + 1] ?? '')]);
        this.at += 2;
      } else if (char === "'" || script.startsWith("$'", this.at)) append([this.readSingleQuoted()]);
      else if (char === '"' || script.startsWith('$"', this.at)) {
        this.at += char === '$' ? 2 : 1;
        append(this.readDoubleQuoted(true));
      } else if (char === '$' || char === '`') {
        append(this.readExpansion().map((text) => text.replaceAll(/\s+/g, fieldMark)));
      } else {
        const [plain] = /^[^\s;&|<>()\\'"$`{},]+/.exec(script.slice(this.at, this.at + 4_096)) ?? [];
        append([plain ?? markBrace(char)]);
        this.at += plain?.length ?? 1;
      }
    }
    return word.map((text) => {
      const expanded = expandBraces(text);
      if (expanded === undefined) this.values.overflow();
      return expanded ?? '';
    });
  }

  private combine(texts: Alternatives, values: Alternatives): Alternatives {
    const combined = appendAlternatives(texts, values);
    if (combined === undefined) this.values.overflow();
    return combined ?? texts;
  }

  private readSingleQuoted(): string {
    const { script } = this;
    const isEscaped = script[this.at] === '$';
    const start = this.at + (isEscaped ? 2 : 1);
    let end = start;
    while (end < script.length && script[end] !== "'") end += isEscaped && script[end] === '\\' ? 2 : 1;
    this.at = end + 1;
    const text = script.slice(start, end);
    return isEscaped ? decodeEscapes(text) : text;
  }

  private readDoubleQuoted(isQuoted: boolean): Alternatives {
    const { script } = this;
    let text: Alternatives = [''];
    while (this.at < script.length && !(isQuoted && script[this.at] === '"')) {
      if (script[this.at] === '\\') {
        const next = script[this.at + 1] ?? '';
        text = this.combine(text, [next === '\n' ? '' : /["\\$`]/.test(next) ? next : `\\${next}`]);
        this.at += 2;
      } else if (script[this.at] === '$' || script[this.at] === '`') text = this.combine(text, this.readExpansion());
      else {
        const [plain] = /^[^\\$`"]+|^"/.exec(script.slice(this.at, this.at + 4_096)) ?? [script[this.at]!];
        text = this.combine(text, [plain]);
        this.at += plain.length;
      }
    }
    this.at++;
    return text;
  }

  private readExpansion(): Alternatives {
    const { script } = this;
    if (script[this.at] === '`') {
      const start = ++this.at;
      while (this.at < script.length && script[this.at] !== '`') this.at += script[this.at] === '\\' ? 2 : 1;
      const inner = script.slice(start, this.at++).replaceAll(/\\([`\\$])/g, '$1');
      return [this.values.substitute(inner)?.trimEnd() ?? unknownOutput];
    }
    if (script.startsWith('$(', this.at)) {
      this.at++;
      const number = this.readArithmetic();
      if (number !== undefined) this.expandText(number);
      if (number !== undefined) return [/^\s*\d+\s*$/.test(number) ? number.trim() : unknownOutput];
      return [this.values.substitute(this.readParentheses())?.trimEnd() ?? unknownOutput];
    }
    if (script.startsWith('${', this.at)) return this.readBraced();
    const [text, name] = /^\$(\w+|[@*#?$!-])/.exec(script.slice(this.at, this.at + 200)) ?? [];
    this.at += text?.length ?? 1;
    if (name === undefined) return ['$'];
    // A positional parameter has one digit.
    const [digit] = /^\d/.exec(name) ?? [];
    if (digit !== undefined) this.at -= name.length - 1;
    return this.values.variable(digit ?? name) ?? [`$${digit ?? name}`];
  }

  /** Reads `${name}` with its operator. */
  private readBraced(): Alternatives {
    const { script } = this;
    const start = this.at;
    let open = 0;
    for (; this.at < script.length; this.at++) {
      if (script[this.at] === '\\') this.at++;
      else if (script[this.at] === '{') open++;
      else if (script[this.at] === '}' && --open === 0) break;
    }
    const text = script.slice(start, ++this.at);
    const [, indirect, name, operator] = /^\$\{(!?)(\w+|[@*])(.*)\}$/s.exec(text) ?? [];
    if (name === undefined) return [unknownOutput];
    const value = this.values.variable(name);
    if (indirect !== '') return (value && this.values.variable(value[0]!)) ?? [text];
    // The word of an operator is a word of the shell.
    const word = new ShellWords(operator!, this.values)
      .readDoubleQuoted(false)[0]!
      .replaceAll(/^(:?[-=+?])["']|["']$/g, '$1');
    return applyOperator(value, /^[:]?[-=+?]/.test(operator!) ? word : operator!) ?? [text];
  }

  /** Reads `((…))`; undefined for a subshell that begins with another one. */
  readArithmetic(): string | undefined {
    if (!this.script.startsWith('((', this.at)) return undefined;
    const start = this.at++;
    const inner = this.readParentheses();
    const isArithmetic = this.script[this.at] === ')';
    this.at = isArithmetic ? this.at + 1 : start;
    return isArithmetic ? inner : undefined;
  }

  /** Reads from an opening parenthesis to the closing one; returns the text between. */
  readParentheses(): string {
    const { script } = this;
    const start = ++this.at;
    let open = 1;
    let quote = '';
    for (; this.at < script.length; this.at++) {
      const char = script[this.at]!;
      if (char === '\\' && quote !== "'") this.at++;
      else if (quote !== '') quote = char === quote ? '' : quote;
      else if (char === "'" || char === '"') quote = char;
      else if (char === '(') open++;
      else if (char === ')' && --open === 0) break;
    }
    return script.slice(start, this.at++);
  }
}

/** The fields of all alternatives of a word. */
export function fieldsOf({ texts }: ShellToken): readonly string[] {
  return texts.flatMap((text) => text.split(fieldMark));
}

/** The commands that a command with several alternatives stands for. */
export function combineWords(tokens: readonly ShellToken[]): readonly (readonly string[])[] {
  const longest = Math.max(0, ...tokens.map(({ texts }) => texts.length));
  const pick = (choose: (token: ShellToken) => string) => tokens.flatMap((token) => choose(token).split(fieldMark));
  if (longest <= 1) return tokens.length === 0 ? [] : [pick(({ texts }) => texts[0]!)];
  // Every alternative occurs, beside the first and beside the equally placed alternatives of the other words.
  const aligned = Array.from({ length: longest }, (_, at) =>
    pick(({ texts }) => texts[Math.min(at, texts.length - 1)]!),
  );
  const several = tokens.filter(({ texts }) => texts.length > 1);
  if (several.length < 2) return aligned;
  const single = several.flatMap((one) =>
    one.texts.slice(1).map((text) => pick((token) => (token === one ? text : token.texts[0]!))),
  );
  return [...aligned, ...single];
}
