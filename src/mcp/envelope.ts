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
  /** Whether `method` or `params` was written twice: readers may disagree on which one counts. */
  readonly isAmbiguous: boolean;
}

/** Whether a message is surely no call of a tool, by what was seen of it so far. */
export function isSurelyNoCall({ top, method, hasResult, hasError, isAmbiguous }: Envelope): boolean {
  if (top !== 'object' || isAmbiguous) return false;
  return method === undefined ? hasResult || hasError : method !== 'tools/call';
}

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
    if (name !== 'method' && name !== 'params') return;
    if (this.#seen.has(name)) this.isAmbiguous = true;
    this.#seen.add(name);
  }

  #noteValue(token: string): void {
    const name = this.#names[this.#depth];
    if (this.#depth === 1) {
      if (name === 'id') this.id = token;
      else if (name === 'method') this.method = parseText(token);
    } else if (this.#depth === 2 && this.#names[1] === 'result') {
      if (name === 'isError') this.isError = token === 'true';
      else if (name === 'resultType') this.resultType = parseText(token);
    }
  }
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
