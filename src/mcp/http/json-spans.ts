/** Finds single values in the bytes of a JSON message, and replaces them; all other bytes stay as they are. */

/** Where a value is, from its first byte to the one after its last. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const quote = 0x22;
const backslash = 0x5c;

/**
 * Finds the texts, numbers and words at some paths of a message that is valid JSON.
 * @param paths The names of members from the top, joined by spaces.
 * @param onName Called with the path of each member.
 */
export function findSpans(
  line: Buffer,
  paths: ReadonlySet<string>,
  onName?: (path: string) => void,
): ReadonlyMap<string, Span> {
  const found = new Map<string, Span>();
  const names: string[] = [''];
  const isObject: boolean[] = [false];
  let depth = 0;
  let expectsName = false;
  const pathHere = () => names.slice(1, depth + 1).join(' ');
  const note = (from: number, to: number) => {
    const path = pathHere();
    if (isObject[depth] && paths.has(path)) found.set(path, { from, to });
  };
  const readName = (from: number, to: number) => {
    const name = JSON.parse(line.toString('utf8', from, to)) as string;
    names[depth] = name.includes(' ') ? '' : name; // One name must not look like two.
    onName?.(pathHere());
  };
  for (let at = 0; at < line.length; at++) {
    const byte = line[at]!;
    if (byte === quote) {
      const to = findEnd(line, at);
      if (expectsName) readName(at, to);
      else note(at, to);
      expectsName = false;
      at = to - 1;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth++;
      names[depth] = '';
      isObject[depth] = byte === 0x7b;
      expectsName = byte === 0x7b;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth--;
      expectsName = false;
    } else if (byte === 0x2c) expectsName = isObject[depth]!;
    else if (isWord(byte)) {
      let to = at + 1;
      while (to < line.length && isWord(line[to]!)) to++;
      note(at, to);
      at = to - 1;
    }
  }
  return found;
}

/** The end of the text that begins at a place. */
function findEnd(line: Buffer, from: number): number {
  for (let at = line.indexOf(quote, from + 1); at !== -1; at = line.indexOf(quote, at + 1)) {
    let slashes = 0;
    while (line[at - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
  return line.length;
}

function isWord(byte: number): boolean {
  return byte > 0x20 && byte !== 0x3a && byte !== 0x2c && byte !== 0x7d && byte !== 0x5d;
}

/** Returns a copy with other texts in place of some spans. */
export function replaceSpans(line: Buffer, texts: readonly (readonly [span: Span, text: string])[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const [{ from, to }, text] of texts.toSorted(([one], [other]) => one.from - other.from)) {
    parts.push(line.subarray(at, from), Buffer.from(text));
    at = to;
  }
  return Buffer.concat([...parts, line.subarray(at)]);
}
