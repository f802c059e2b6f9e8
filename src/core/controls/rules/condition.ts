/**
 * Parses and prints the condition of a rule:
 * `amount>500` · `frequency>10/1h` (s, m, h, d; default 1h) · `ability:mail.*` · `output:error|contains:fail`.
 */

import { frequencyHistoryMax, frequencyWindowMaxMs, quoteLengthMax } from '../../limits.ts';
import { parseNumber } from './read-key.ts';

/** A parsed condition. */
export type Condition =
  | { readonly kind: 'threshold'; readonly key: string; readonly value: number }
  | {
      readonly kind: 'frequency';
      readonly count: number;
      readonly windowMs: number;
      /** The window as text, in its largest whole unit: `60m` is `1h`. */
      readonly text: string;
    }
  | { readonly kind: 'ability'; readonly pattern: string }
  | { readonly kind: 'output'; readonly key: string; readonly contains: string };

/** A condition on frequency. */
export type Frequency = Extract<Condition, { kind: 'frequency' }>;

/** A condition, or why the text is invalid. */
export type ParsedCondition = { readonly condition: Condition; readonly error?: undefined } | ParseFailure;
/** Why a text is invalid. */
export interface ParseFailure {
  readonly error: string;
}

const unitMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };
/** A rule with a count beyond the length of its history could never fire. */
const countMax = frequencyHistoryMax - 1;

/** Parses a condition; spaces around its parts are ignored. */
export function parseCondition(text: string): ParsedCondition {
  const line = text.trim();
  if (line.startsWith('ability:')) return parseAbility(line.slice(8).trim());
  if (line.startsWith('output:')) return parseOutput(line.slice(7));
  const at = line.indexOf('>');
  const other = /^([^<>=!"|]*)(>=|=>|<=|=<|==?|!=|<)(.*)$/s.exec(line);
  if (other !== null) return otherComparison(line, other[1]!.trim(), other[2]!, other[3]!.trim());
  if (at < 0)
    return parseFailure(
      'condition must be key>value, frequency>count/window, ability:name or output:key|contains:text',
      line,
    );
  const key = line.slice(0, at).trim();
  const value = line.slice(at + 1).trim();
  if (key === 'frequency') return parseFrequency(value);
  const number = parseNumber(value);
  if (!isKey(key)) return parseFailure('threshold needs a key before >', line);
  if (number === undefined) return parseFailure('threshold must be a number', value);
  return { condition: { kind: 'threshold', key, value: number } };
}

/** Prints a condition; parsing the text returns the same condition. */
export function printCondition(condition: Condition): string {
  switch (condition.kind) {
    case 'threshold':
      return `${condition.key}>${condition.value}`;
    case 'frequency':
      return `frequency>${condition.count}/${condition.text}`;
    case 'ability':
      return `ability:${condition.pattern}`;
    case 'output': {
      const { key, contains } = condition;
      const quoted = contains !== contains.trim() || contains !== unquote(contains);
      return `output:${key}|contains:${quoted ? `"${contains}"` : contains}`;
    }
  }
}

/** Removes one pair of quotes around a text. */
export function unquote(text: string): string {
  return text.length > 1 && /^["']/.test(text) && text.at(-1) === text[0] ? text.slice(1, -1) : text;
}

/** Describes a problem and quotes the input. */
export function parseFailure(problem: string, input: unknown): ParseFailure {
  const text = typeof input === 'string' ? input : typeof input;
  const quoted = text.length > quoteLengthMax ? `${text.slice(0, quoteLengthMax)}…` : text;
  return { error: `${problem}, got ${JSON.stringify(quoted)}` };
}

/** The failure of a comparison other than `>`, with the line to write where one means the same. */
function otherComparison(line: string, key: string, operator: string, text: string): ParseFailure {
  const problem = `only > compares, and ${operator} is not supported`;
  const { error } = parseFailure(problem, line);
  if (operator !== '>=' && operator !== '=>') return { error };
  const number = parseNumber(text);
  if (number === undefined || !isKey(key) || !Number.isSafeInteger(number)) return { error };
  return { error: `${error}: write "${key}>${number - 1}", or "${key}>${number - 1}.99" for amounts with cents` };
}

function parseFrequency(text: string): ParsedCondition {
  const slash = text.indexOf('/');
  const digits = (slash < 0 ? text : text.slice(0, slash)).trim();
  const window = slash < 0 ? '' : text.slice(slash + 1).trim();
  const count = /^\d{1,10}$/.test(digits) ? Number(digits) : -1;
  if (count < 0 || count > countMax)
    return parseFailure(`frequency count must be a whole number from 0 to ${countMax}`, digits);
  const [, size, unit] = /^(\d{1,15})([smhd])$/.exec(window || '1h') ?? [];
  const windowMs = Number(size) * (unitMs[unit ?? ''] ?? 0);
  if (!(windowMs > 0 && windowMs <= frequencyWindowMaxMs)) {
    return parseFailure('frequency window must be digits with s, m, h or d, from 1s to ten years', window);
  }
  const largest = Object.keys(unitMs).find((name) => windowMs % (unitMs[name] ?? 1) === 0) ?? 's';
  return { condition: { kind: 'frequency', count, windowMs, text: `${windowMs / (unitMs[largest] ?? 1)}${largest}` } };
}

function parseAbility(pattern: string): ParsedCondition {
  if (!/^[^\s|>"\p{Cc}]+$/u.test(pattern)) return parseFailure('ability must be one name', pattern);
  return { condition: { kind: 'ability', pattern } };
}

function parseOutput(text: string): ParsedCondition {
  const pipe = text.indexOf('|');
  const key = (pipe < 0 ? text : text.slice(0, pipe)).trim();
  const rest = pipe < 0 ? '' : text.slice(pipe + 1).trim();
  if (!isKey(key)) return parseFailure('output needs a key', text);
  const contains = unquote(rest.slice(9).trim());
  if (!rest.startsWith('contains:') || contains === '' || /[|\p{Cc}]/u.test(contains)) {
    return parseFailure('output needs contains: and a text without pipes', rest);
  }
  return { condition: { kind: 'output', key, contains } };
}

/** Whether a text is a key. A key with the prefix `B:` of a rule line could not be printed and parsed again. */
function isKey(text: string): boolean {
  return /^(?!B:)[^|<>="\p{Cc}]+$/u.test(text);
}
