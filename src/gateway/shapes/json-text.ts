/** Finds the places of values in a JSON text, so that a text can be changed without being written anew. */

/** The place of a value in a text. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

/** The values of the members of an object that have a name; undefined if the object cannot be read. */
export function findMembers(text: string, objectStart: number, name: string): readonly Place[] | undefined {
  const found: Place[] = [];
  let at = skipSpace(text, objectStart + 1);
  while (text[at] === '"') {
    const keyEnd = skipString(text, at);
    const colon = skipSpace(text, keyEnd);
    const start = skipSpace(text, colon + 1);
    const end = skipValue(text, start);
    if (text[colon] !== ':' || end <= start) return undefined;
    if (JSON.parse(text.slice(at, keyEnd)) === name) found.push({ start, end });
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return text[at] === '}' ? found : undefined;
}

export function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t\n\r'.includes(text[at]!)) at++;
  return at;
}

export function skipString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

export function skipValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const letter = text[at]!;
    if (letter === '"') at = skipString(text, at);
    else if (letter === '{' || letter === '[') {
      depth++;
      at++;
    } else if (letter === '}' || letter === ']') {
      if (depth === 0) return at;
      depth--;
      at++;
    } else if (depth === 0 && ', \t\n\r'.includes(letter)) return at;
    else {
      at++;
      continue;
    }
    if (depth === 0) return at;
  }
  return text.length;
}
