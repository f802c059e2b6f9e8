/** Edits a JSON text in place: inserting and removing parts keeps comments, order and spaces. */

import { SwitchgearError } from '../../core/error.ts';
import { policyDepthMax } from '../../core/limits.ts';

/** One value of a text with its position and its parts. */
export interface JsonNode {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** The members of an object, or the elements of a list without keys. */
  readonly parts: readonly JsonPart[];
}

export interface JsonPart extends JsonNode {
  readonly key: string | undefined;
  /** The start of the part, including its key. */
  readonly from: number;
}

const depthMax = policyDepthMax * 8;

/** Parses a text; comments and trailing commas are allowed. */
export function parseJsonTree(text: string): JsonNode {
  let at = 0;

  function fail(what: string): never {
    const line = text.slice(0, at).split('\n').length;
    throw new SwitchgearError('invalid_json', `${what} in line ${line}`);
  }

  function skipSpace(): void {
    const space = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/|\ufeff)*/y;
    space.lastIndex = at;
    at += space.exec(text)![0].length;
  }

  function readScalar(): { readonly end: number; readonly value: unknown } {
    const token = /"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y;
    token.lastIndex = at;
    const [found] = token.exec(text) ?? fail(`unexpected ${JSON.stringify(text.slice(at, at + 10))}`);
    try {
      return { end: at + found.length, value: JSON.parse(found) };
    } catch {
      return fail(`${found} is not a JSON value`);
    }
  }

  function readValue(depth: number): JsonNode {
    if (depth > depthMax) fail('the values are nested too deeply');
    skipSpace();
    const start = at;
    const open = text[at];
    if (open !== '{' && open !== '[') {
      const { end, value: read } = readScalar();
      at = end;
      return { start, end, value: read, parts: [] };
    }
    at++;
    const parts: JsonPart[] = [];
    for (skipSpace(); text[at] !== '}' && text[at] !== ']'; skipSpace()) {
      if (at >= text.length) fail('a closing bracket is missing at the end of the file');
      parts.push(readPart(open === '{', depth + 1));
      skipSpace();
      if (text[at] === ',') at++;
      else if (text[at] !== '}' && text[at] !== ']') fail('a comma is missing between two values');
    }
    if (text[at] !== (open === '{' ? '}' : ']')) fail('the closing bracket does not match the opening bracket');
    at++;
    const whole = open === '[' ? parts.map((each) => each.value) : fromParts(parts);
    return { start, end: at, value: whole, parts };
  }

  function readPart(isMember: boolean, depth: number): JsonPart {
    const from = at;
    let key: string | undefined;
    if (isMember) {
      const { end, value: read } = readScalar();
      if (typeof read !== 'string') fail('a key must be a quoted text');
      key = read;
      at = end;
      skipSpace();
      if (text[at++] !== ':') fail('a colon is missing after a key');
    }
    return { key, from, ...readValue(depth) };
  }

  const root = readValue(0);
  skipSpace();
  if (at < text.length) fail('the file has text after its JSON value');
  return root;
}

function fromParts(parts: readonly JsonPart[]): object {
  return Object.fromEntries(parts.map(({ key, value }) => [key, value]));
}

/** Returns the text with a part added at the end of an object or list. */
export function insertPart(
  text: string,
  { start, end, parts }: JsonNode,
  key: string | undefined,
  value: unknown,
): string {
  const last = parts.at(-1);
  const outer = indentAt(text, start);
  const unit = /^( +|\t)(?=\S)/m.exec(text)?.[1] ?? '  ';
  const inner = outer + unit;
  const body = JSON.stringify(value, undefined, unit).replaceAll('\n', `\n${inner}`);
  const added = `\n${inner}${key === undefined ? '' : `${JSON.stringify(key)}: `}${body}`;
  if (last === undefined) return `${text.slice(0, start + 1)}${added}\n${outer}${text.slice(end - 1)}`;
  return `${text.slice(0, last.end)},${added}${text.slice(last.end).replace(/^\s*,/, '')}`;
}

/** Returns the text without a part and its comma. */
export function removePart(text: string, { parts, start, end }: JsonNode, part: JsonPart): string {
  const at = parts.indexOf(part);
  if (parts.length === 1) return `${text.slice(0, start + 1)}${text.slice(end - 1)}`;
  if (at > 0) return text.slice(0, parts[at - 1]!.end) + text.slice(part.end);
  return text.slice(0, part.from) + text.slice(parts[1]!.from);
}

/**
 * Returns the text with members in the place of one member of an object, in the style of that member: a value in one
 * line stays in one line.
 */
export function replaceMember(text: string, { start, parts }: JsonNode, part: JsonPart, members: object): string {
  const isOneLine = !text.slice(start, parts[0]!.from).includes('\n');
  const lineStart = `${text.includes('\r\n') ? '\r' : ''}\n${indentAt(text, part.from)}`;
  const unit = /^( +|\t)(?=\S)/m.exec(text)?.[1] ?? '  ';
  const isSpread = text.slice(part.start, part.end).includes('\n');
  const added = Object.entries(members).map(([key, value]) => {
    const kept = part.key === key && Array.isArray(value) ? changeHead(text, part, value) : undefined;
    if (kept !== undefined) return text.slice(part.from, part.start) + kept;
    const body = isSpread ? JSON.stringify(value, undefined, unit).replaceAll('\n', lineStart) : formatOneLine(value);
    // The space between key and value is that of the member.
    const between = part.key === key ? text.slice(part.from, part.start) : `${JSON.stringify(key)}: `;
    return `${between}${body}`;
  });
  return text.slice(0, part.from) + added.join(isOneLine ? ', ' : `,${lineStart}`) + text.slice(part.end);
}

/** The text of a list with other first elements; undefined if more than that changes. */
function changeHead(
  text: string,
  { start, end, parts, value }: JsonPart,
  wanted: readonly unknown[],
): string | undefined {
  if (!Array.isArray(value) || parts.length === 0) return undefined;
  const [longer, shorter] = wanted.length > parts.length ? [wanted, value] : [value, wanted];
  const count = longer.length - shorter.length;
  if (shorter.some((each, at) => each !== longer[count + at])) return undefined;
  const { from } = parts[0]!;
  if (longer === value) return text.slice(start, from) + text.slice(parts[count]?.from ?? parts.at(-1)!.end, end);
  const isSpread = text.slice(start, from).includes('\n');
  const comma = isSpread ? `,${text.includes('\r\n') ? '\r' : ''}\n${indentAt(text, from)}` : ', ';
  const added = wanted.slice(0, count).map((each) => formatOneLine(each) + comma);
  return text.slice(start, from) + added.join('') + text.slice(from, end);
}

function formatOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${formatOneLine(each)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return /^\s*/.exec(line)![0];
}
