/**
 * Reads the few members of a JSON-RPC message that tell what it is, while its bytes pass: the message is never held as
 * a whole. Members of the message itself are read, and those of its `params` and `result`.
 */

import { tokenBytesMax } from './limits.ts';

/** The members of a message that were seen so far. */
export interface Envelope {
  /** What the message is at its top: an object, a list of messages, or something else. */
  readonly top: 'object' | 'array' | 'other' | undefined;
  /** The id as it was written. */
  readonly id: string | undefined;
  readonly method: string | undefined;
  readonly hasResult: boolean;
  readonly hasError: boolean;
  /** `result.isError`. */
  readonly isError: boolean;
  /** `result.resultType`. */
  readonly resultType: string | undefined;
  /** Whether `method` or `params` was written twice or in other letters: readers may disagree on which one counts. */
  readonly isAmbiguous: boolean;
  /** The same for `name` and `arguments` in `params`. */
  readonly hasAmbiguousParams: boolean;
}

/** Whether a message is surely no call of a tool, by what was seen of it so far. */
export function isSurelyNoCall({ top, method, hasResult, hasError, isAmbiguous }: Envelope): boolean {
  if (top !== 'object' || isAmbiguous) return false;
  return method === undefined ? hasResult || hasError : method !== 'tools/call';
}

/**
 * Whether a message of a client may be a call to a server whose reader takes it in another way than this one: members
 * that are written twice or in other letters, or numbers that JSON does not have, such as NaN.
 * @param message The message as it was read here; undefined if it is no JSON.
 * @param text The text of the line.
 */
export function mayBeOtherCall(message: unknown, text: string, line: Buffer): boolean {
  if (Array.isArray(message)) return mayHoldOtherCall(message, line);
  if (message !== undefined && isSurelyPlain(message as PlainMessage, text)) return false;
  const scanner = new EnvelopeScanner();
  scanner.scan(line[0] === 0xef ? line.subarray(3) : line); // Without a byte order mark.
  if (scanner.namesCall && (message === undefined || scanner.isAmbiguous || scanner.hasAmbiguousParams)) return true;
  return message === undefined && scanner.top === 'array' && (line.includes('tools/call') || line.includes('\\'));
}

/** The same for a list of messages. A list in it is no message, but a reader may look into it. */
function mayHoldOtherCall(messages: readonly unknown[], line: Buffer): boolean {
  if (!line.includes('tools/call') && !line.includes('\\')) return false;
  const parts = splitItems(line);
  return messages.some((each, index) => {
    const part = parts[index]!;
    return Array.isArray(each) || (typeof each === 'object' && mayBeOtherCall(each ?? [], part.toString('utf8'), part));
  });
}

/** The bytes of each item of a list that is valid JSON. */
function splitItems(line: Buffer): readonly Buffer[] {
  const parts: Buffer[] = [];
  let depth = 0;
  let from = 0;
  let isInString = false;
  for (let at = 0; at < line.length; at++) {
    const byte = line[at]!;
    if (isInString) {
      if (byte === backslash) at++;
      else if (byte === quote) isInString = false;
    } else if (byte === quote) isInString = true;
    else if (byte === openBrace || byte === openBracket) {
      if (++depth === 1) from = at + 1;
    } else if (byte === closeBrace || byte === closeBracket) {
      if (--depth === 0) parts.push(line.subarray(from, at));
    } else if (byte === comma && depth === 1) {
      parts.push(line.subarray(from, at));
      from = at + 1;
    }
  }
  return parts;
}

type PlainMessage = { readonly method?: unknown; readonly params?: unknown };

/** Whether a message has surely no such members, by a quick look. */
function isSurelyPlain(message: PlainMessage, text: string): boolean {
  if (message.method !== 'tools/call') return !text.includes('tools/call') && !text.includes('\\');
  if (text.includes('\\u') || hasOther(message.params) || hasOther(message)) return false;
  return (
    !isTwice(text, '"method"') &&
    !isTwice(text, '"params"') &&
    !isTwice(text, '"name"') &&
    !isTwice(text, '"arguments"')
  );
}

function isTwice(text: string, name: string): boolean {
  const first = text.indexOf(name);
  return first !== -1 && text.includes(name, first + name.length);
}

/** Whether a name has other letters than those of the protocol. */
function hasOther(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  for (const name in value) if (!plainNames.has(name) && /[A-Z]|[^ -~]/.test(name)) return true;
  return false;
}

/** Names that most calls have. */
const plainNames = new Set(['jsonrpc', 'id', 'method', 'params', 'name', 'arguments', '_meta']);

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/** The members whose own members are read. */
const opened = new Set(['params', 'result']);

export class EnvelopeScanner implements Envelope {
  top: Envelope['top'];
  id: string | undefined;
  method: string | undefined;
  hasResult = false;
  hasError = false;
  isError = false;
  resultType: string | undefined;
  isAmbiguous = false;
  hasAmbiguousParams = false;
  /** Whether a member that any reader takes for the method names a call. */
  namesCall = false;

  #depth = 0;
  /** The last name at depth 1 and 2, whether an object is there, and whether a name comes next. */
  readonly #names = ['', '', ''];
  readonly #isObject = [false, false, false];
  readonly #expectsName = [false, false, false];
  readonly #seen = new Set<string>();
  #isInString = false;
  #isEscaped = false;
  /** The bytes of the name or value that is being read; undefined if it is of no interest. */
  #token: number[] | undefined;
  /** Whether a number or word is being read. */
  #isInWord = false;

  /** Reads the next bytes of the message. */
  scan(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#isInString) {
        if (this.#token === undefined && !this.#isEscaped && byte !== quote && byte !== backslash) continue;
        this.#readString(byte);
      } else this.#readByte(byte);
    }
  }

  #readString(byte: number): void {
    this.#keep(byte);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) {
      this.#isInString = false;
      this.#endString();
    }
  }

  #readByte(byte: number): void {
    switch (byte) {
      case quote:
        this.top ??= 'other';
        this.#isInString = true;
        this.#token = this.#isOfInterest() ? [quote] : undefined;
        return;
      case openBrace:
      case openBracket:
        this.top ??= byte === openBrace ? 'object' : 'array';
        if (this.#depth === 1) this.#noteValue('');
        this.#depth++;
        if (this.#depth <= 2) {
          this.#isObject[this.#depth] = byte === openBrace;
          this.#expectsName[this.#depth] = byte === openBrace;
          this.#names[this.#depth] = '';
        }
        return;
      case closeBrace:
      case closeBracket:
        this.#endWord();
        if (this.#depth > 0) this.#depth--;
        return;
      case comma:
        this.#endWord();
        if (this.#depth <= 2) this.#expectsName[this.#depth] = this.#isObject[this.#depth]!;
        return;
      case colon:
        return;
      default:
        if (byte <= 0x20) {
          this.#endWord();
          return;
        }
        this.top ??= 'other';
        if (!this.#isInWord) {
          this.#isInWord = true;
          this.#token = this.#isOfInterest() ? [] : undefined;
        }
        this.#keep(byte);
    }
  }

  /** Whether the name or value that begins here is read: at depth 1, and at depth 2 inside `params` and `result`. */
  #isOfInterest(): boolean {
    if (this.top !== 'object') return false;
    return this.#depth === 1 || (this.#depth === 2 && opened.has(this.#names[1]!));
  }

  #keep(byte: number): void {
    if (this.#token === undefined) return;
    if (this.#token.length < tokenBytesMax) this.#token.push(byte);
    else this.#token = undefined; // Too long to be of interest.
  }

  #endString(): void {
    const token = this.#takeToken();
    if (this.#depth <= 2 && this.#expectsName[this.#depth]) {
      this.#expectsName[this.#depth] = false;
      this.#names[this.#depth] = (token === undefined ? undefined : parseText(token)) ?? ' ';
      if (this.#depth === 1) this.#noteName(this.#names[1]!);
      else if (this.#names[1] === 'params') this.#noteParam(this.#names[2]!);
    } else if (token !== undefined) this.#noteValue(token);
  }

  #endWord(): void {
    if (!this.#isInWord) return;
    this.#isInWord = false;
    const token = this.#takeToken();
    if (token !== undefined) this.#noteValue(token);
  }

  #takeToken(): string | undefined {
    const token = this.#token;
    this.#token = undefined;
    return token && Buffer.from(token).toString('utf8');
  }

  #noteName(name: string): void {
    if (name === 'result') this.hasResult = true;
    else if (name === 'error') this.hasError = true;
    if (this.#isRepeated(name, ['method', 'params'])) this.isAmbiguous = true;
  }

  #noteParam(name: string): void {
    if (this.#isRepeated(name, ['name', 'arguments'])) this.hasAmbiguousParams = true;
  }

  /** Whether a name was seen before, or is only for some readers one of those that count. */
  #isRepeated(name: string, counted: readonly string[]): boolean {
    const plain = toPlain(name);
    if (!counted.includes(plain)) return false;
    const isRepeated = name !== plain || this.#seen.has(name);
    this.#seen.add(name);
    return isRepeated;
  }

  #noteValue(token: string): void {
    const name = this.#names[this.#depth];
    if (this.#depth === 1) {
      if (name === 'id') this.id = token;
      else if (name === 'method') this.method = parseText(token);
      if (toPlain(name!) === 'method') this.namesCall ||= parseText(token) === 'tools/call';
    } else if (this.#depth === 2 && this.#names[1] === 'result') {
      if (name === 'isError') this.isError = token === 'true';
      else if (name === 'resultType') this.resultType = parseText(token);
    }
  }
}

/** A name in the letters that readers take for the same ones. */
function toPlain(name: string): string {
  return /^[a-z]*$/.test(name) ? name : name.normalize('NFKC').toLowerCase();
}

/** The text of a JSON string; undefined if it is none, or was cut. */
function parseText(token: string): string | undefined {
  try {
    const value: unknown = JSON.parse(token);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
