/** A JSON text with its places: what is put in and taken out leaves comments, order and spaces as they were. */

import { SwitchgearError } from '../../core/error.ts';
import { policyDepthMax } from '../../core/limits.ts';

/** One value of a text: where it stands, and what it holds. */
export interface Place {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** The members of an object, or the elements of a list without keys. */
  readonly parts: readonly Part[];
}

export interface Part extends Place {
  readonly key: string | undefined;
  /** Where the part begins, its key included. */
  readonly from: number;
}

const depthMax = policyDepthMax * 8;

/** Reads a text; comments and commas too many are passed over. */
export function placesOf(text: string): Place {
  let at = 0;

  function fail(what: string): never {
    const line = text.slice(0, at).split('\n').length;
    throw new SwitchgearError('invalid_json', `${what} in line ${line}`);
  }

  function skip(): void {
    const space = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/|\ufeff)*/y;
    space.lastIndex = at;
    at += space.exec(text)![0].length;
  }

  function scalar(): { readonly end: number; readonly value: unknown } {
    const token = /"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y;
    token.lastIndex = at;
    const [found] = token.exec(text) ?? fail(`unexpected ${JSON.stringify(text.slice(at, at + 10))}`);
    try {
      return { end: at + found.length, value: JSON.parse(found) };
    } catch {
      return fail(`${found} is no value`);
    }
  }

  function value(depth: number): Place {
    if (depth > depthMax) fail('it is nested too deep');
    skip();
    const start = at;
    const open = text[at];
    if (open !== '{' && open !== '[') {
      const { end, value: read } = scalar();
      at = end;
      return { start, end, value: read, parts: [] };
    }
    at++;
    const parts: Part[] = [];
    for (skip(); text[at] !== '}' && text[at] !== ']'; skip()) {
      if (at >= text.length) fail('it ends too early');
      parts.push(part(open === '{', depth + 1));
      skip();
      if (text[at] === ',') at++;
      else if (text[at] !== '}' && text[at] !== ']') fail('a comma is missing');
    }
    if (text[at] !== (open === '{' ? '}' : ']')) fail('a bracket is wrong');
    at++;
    const whole = open === '[' ? parts.map((each) => each.value) : fromParts(parts);
    return { start, end: at, value: whole, parts };
  }

  function part(isMember: boolean, depth: number): Part {
    const from = at;
    let key: string | undefined;
    if (isMember) {
      const { end, value: read } = scalar();
      if (typeof read !== 'string') fail('a key must be a text');
      key = read;
      at = end;
      skip();
      if (text[at++] !== ':') fail('a colon is missing');
    }
    return { key, from, ...value(depth) };
  }

  const root = value(0);
  skip();
  if (at < text.length) fail('there is more than one value');
  return root;
}

function fromParts(parts: readonly Part[]): object {
  return Object.fromEntries(parts.map(({ key, value }) => [key, value]));
}

/** The text with one more part at the end of an object or list. */
export function withPart(text: string, { start, end, parts }: Place, key: string | undefined, value: unknown): string {
  const last = parts.at(-1);
  const outer = indentAt(text, start);
  const unit = /^( +|\t)(?=\S)/m.exec(text)?.[1] ?? '  ';
  const inner = outer + unit;
  const body = JSON.stringify(value, undefined, unit).replaceAll('\n', `\n${inner}`);
  const added = `\n${inner}${key === undefined ? '' : `${JSON.stringify(key)}: `}${body}`;
  if (last === undefined) return `${text.slice(0, start + 1)}${added}\n${outer}${text.slice(end - 1)}`;
  return `${text.slice(0, last.end)},${added}${text.slice(last.end).replace(/^\s*,/, '')}`;
}

/** The text without a part, and without the comma that set it apart. */
export function withoutPart(text: string, { parts, start, end }: Place, part: Part): string {
  const at = parts.indexOf(part);
  if (parts.length === 1) return `${text.slice(0, start + 1)}${text.slice(end - 1)}`;
  if (at > 0) return text.slice(0, parts[at - 1]!.end) + text.slice(part.end);
  return text.slice(0, part.from) + text.slice(parts[1]!.from);
}

function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return /^\s*/.exec(line)![0];
}
