/**
 * Values of words in a shell script, as far as they are known without running it. A value is a list of alternatives: a
 * variable of a loop has one for each word of the loop.
 */

import { shellAlternativesMax } from '../core/limits.ts';

/** The possible texts of a word or variable. A text may contain several fields, separated by `fieldMark`. */
export type Alternatives = readonly string[];

/** Separates the fields of an unquoted expansion; scripts contain no such character. */
export const fieldMark = '\0';

/** Stand for an unquoted brace, comma and brace until braces are expanded. */
const openBrace = '\u{F0000}';
const braceComma = '\u{F0001}';
const closeBrace = '\u{F0002}';
const braceMarks: Readonly<Record<string, string>> = { '{': openBrace, ',': braceComma, '}': closeBrace };
const braceTexts: Readonly<Record<string, string>> = { [openBrace]: '{', [braceComma]: ',', [closeBrace]: '}' };

/** The mark of an unquoted character of a brace expansion; other characters stand for themselves. */
export function markBrace(char: string): string {
  return braceMarks[char] ?? char;
}

/** Appends every alternative to every text; undefined if there are too many. */
export function appendAlternatives(texts: Alternatives, values: Alternatives): Alternatives | undefined {
  if (values.length === 1) return texts.map((text) => text + values[0]!);
  if (texts.length * values.length > shellAlternativesMax) return undefined;
  return texts.flatMap((text) => values.map((value) => text + value));
}

/** Expands `a{b,c}` to the fields `ab` and `ac`; undefined if there are too many. */
export function expandBraces(text: string): string | undefined {
  const isPlain = !text.includes(openBrace) && !text.includes(braceComma) && !text.includes(closeBrace);
  if (isPlain) return text;
  if (text.length > bracedLengthMax) return undefined;
  let fields = [text];
  for (;;) {
    const expanded = fields.flatMap(expandInnermost);
    if (expanded.length > shellAlternativesMax) return undefined;
    if (expanded.every((field, at) => field === fields[at])) break;
    fields = expanded;
  }
  const unmark = (field: string) => field.replaceAll(/[\u{F0000}-\u{F0002}]/gu, (mark) => braceTexts[mark]!);
  return fields.map(unmark).join(fieldMark);
}

/** The longest word whose braces are expanded. */
const bracedLengthMax = 4_096;

function expandInnermost(text: string): readonly string[] {
  const end = text.indexOf(closeBrace);
  const start = end === -1 ? -1 : text.lastIndexOf(openBrace, end);
  if (start === -1) return [text];
  const [before, after] = [text.slice(0, start), text.slice(end + closeBrace.length)];
  const parts = text.slice(start + openBrace.length, end).split(braceComma);
  // Without a comma, as in `{}` and `{1..9}`, the braces stay.
  if (parts.length === 1) return [`${before}{${parts[0]}}${after}`];
  return parts.map((part) => before + part + after);
}

/** Decodes the escapes of `$'…'` and of `printf` and `echo -e`. */
export function decodeEscapes(text: string): string {
  const named: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '', b: '', e: '', f: '', v: '' };
  return text.replaceAll(
    /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|U([\da-f]{1,8})|0?([0-7]{1,3})|(.))/gis,
    (_, hex?: string, short?: string, long?: string, octal?: string, char?: string) => {
      if (char !== undefined) return named[char] ?? char;
      const code = octal === undefined ? Number.parseInt((hex ?? short ?? long)!, 16) : Number.parseInt(octal, 8);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
    },
  );
}

/** Applies the operator of `${name<operator>}`; undefined if the result is unknown. */
export function applyOperator(value: Alternatives | undefined, operator: string): Alternatives | undefined {
  if (operator === '' || /^\[[@*]\]$/.test(operator)) return value;
  const [, colon, kind, word = ''] = /^(:?)([-=+?])(.*)$/s.exec(operator) ?? [];
  if (kind === '+') return value === undefined ? [''] : [word];
  if (kind !== undefined) {
    const isMissing = value === undefined || (colon !== '' && value.every((text) => text === ''));
    // A variable that is not known here may have a value, or may be missing.
    return isMissing ? (kind === '?' ? value : [word]) : value;
  }
  return value?.map((text) => changeText(text, operator));
}

function changeText(text: string, operator: string): string {
  const [, index] = /^\[(\d+)\]$/.exec(operator) ?? [];
  if (index !== undefined) return text.split(fieldMark)[Number(index)] ?? '';
  const [, from, length] = /^:\s*(-?\d+)(?::\s*(-?\d+))?$/.exec(operator) ?? [];
  if (from !== undefined) {
    const rest = text.slice(Number(from));
    return length === undefined ? rest : rest.slice(0, Number(length));
  }
  const [, slashes, pattern = '', replacement = ''] = /^(\/\/?)([^/]*)(?:\/(.*))?$/s.exec(operator) ?? [];
  if (slashes !== undefined)
    return slashes === '//' ? text.replaceAll(pattern, () => replacement) : text.replace(pattern, () => replacement);
  if (/^\^\^?$/.test(operator)) return operator === '^^' ? text.toUpperCase() : capitalize(text);
  if (/^,,?$/.test(operator)) return text.toLowerCase();
  const [, strip, affix = ''] = /^(%%?|##?)(.*)$/s.exec(operator) ?? [];
  return strip === undefined ? text : stripAffix(text, strip, affix);
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Removes a prefix or suffix; of its pattern, one star at the outer or inner end is known. */
function stripAffix(text: string, operator: string, affix: string): string {
  const literal = affix.replaceAll('*', '');
  const isLongest = operator.length === 2;
  if (operator.startsWith('#')) {
    if (!affix.startsWith('*')) return text.startsWith(literal) ? text.slice(literal.length) : text;
    const at = isLongest ? text.lastIndexOf(literal) : text.indexOf(literal);
    return at === -1 ? text : text.slice(at + literal.length);
  }
  if (!affix.endsWith('*')) return literal !== '' && text.endsWith(literal) ? text.slice(0, -literal.length) : text;
  const at = isLongest ? text.indexOf(literal) : text.lastIndexOf(literal);
  return at === -1 ? text : text.slice(0, at);
}
