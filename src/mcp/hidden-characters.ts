/** Finds characters in the texts of a server that a model reads and a person does not see. */

/** Ranges of characters: control characters such as those of ANSI, zero width, direction, fillers, selectors, tags. */
const hiddenRanges = [
  [0x00, 0x08],
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0e],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
] as const;

const toEscape = (code: number) => `\\u{${code.toString(16)}}`;
const hidden = new RegExp(`[${hiddenRanges.map(([from, to]) => `${toEscape(from)}-${toEscape(to)}`).join('')}]`, 'gu');

/** Joiners inside of emoji and between letters of scripts that need them, and the flags of regions. */
const usual = new RegExp(
  [
    '(?<=\\p{Extended_Pictographic}[\\u{fe0f}\\u{1f3fb}-\\u{1f3ff}]?)\\u200d(?=\\p{Extended_Pictographic})',
    '\\u{1f3f4}[\\u{e0020}-\\u{e007e}]{1,6}\\u{e007f}',
    '(?<=[\\p{sc=Arabic}\\p{sc=Devanagari}\\p{sc=Bengali}\\p{sc=Malayalam}\\p{sc=Sinhala}])[\\u200c\\u200d]',
  ].join('|'),
  'gu',
);

/** The most texts of a value, and levels of it, that are read. */
const textsMax = 100_000;
const depthMax = 200;

/** The hidden characters in all texts of a value, as `U+200B`, each once. */
export function findHiddenCharacters(value: unknown): readonly string[] {
  const found = new Set<string>();
  const waiting: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }];
  for (let count = 0; waiting.length > 0 && count < textsMax; count++) {
    const { value: next, depth } = waiting.pop()!;
    if (typeof next === 'string') {
      for (const [character] of next.replaceAll(usual, '').matchAll(hidden)) found.add(nameCharacter(character));
    } else if (typeof next === 'object' && next !== null && depth < depthMax) {
      for (const [name, member] of Object.entries(next))
        waiting.push({ value: name, depth }, { value: member, depth: depth + 1 });
    }
  }
  return [...found].toSorted();
}

function nameCharacter(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}
