/** Checks one value against its setting and describes the requirement. */

import { countMax, nameLengthMax } from '../limits.ts';
import { describeValue, isTable, reservedNames } from '../plain-copy.ts';
import { toolListsProblem } from './mcp-settings.ts';
import type { NumberSetting, Setting } from './setting.ts';

/** Returns why a value is invalid for a setting, as the end of a sentence; undefined if the value is valid. */
export function valueProblem(setting: Setting, value: unknown): string | undefined {
  switch (setting.kind) {
    case 'whole':
    case 'number':
      return numberProblem(setting, value);
    case 'flag':
      return typeof value === 'boolean' ? undefined : `must be true or false, got ${describeValue(value)}`;
    case 'choice':
      return setting.of.includes(value as string)
        ? undefined
        : `must be ${formatChoices(setting.of)}, got ${describeValue(value)}`;
    case 'texts':
      return textsProblem(setting.of, value);
    case 'counts':
      return mapProblem(value, (item) => valueProblem(countSetting, item));
    case 'names':
      return mapProblem(value, setting.of ? (item) => valueProblem(choiceSetting(setting.of!), item) : textProblem);
    case 'tools':
      return toolListsProblem(value);
  }
}

function choiceSetting(choices: readonly string[]): Setting {
  return { doc: '', kind: 'choice', default: '', stricter: 'any', of: choices };
}

const countSetting: NumberSetting = {
  doc: '',
  kind: 'whole',
  default: undefined,
  stricter: 'any',
  min: 1,
  max: countMax,
};

function numberProblem(setting: NumberSetting, value: unknown): string | undefined {
  if ((value === 'none' && setting.optional) || (setting.none !== undefined && value === setting.none))
    return undefined;
  const { kind, min, above, max } = setting;
  const fits = typeof value === 'number' && (kind === 'whole' ? Number.isSafeInteger(value) : Number.isFinite(value));
  if (fits && value > max) return `must be at most ${max}, got ${describeValue(value)}`;
  if (fits && (min !== undefined ? value >= min : value > above!)) return undefined;
  const none = setting.optional && setting.none === undefined ? ' or "none"' : '';
  return `must be ${describeNumber(setting)}${none}, got ${describeValue(value)}`;
}

/** Describes the kind and lower bound of a number: `a whole number from 1`. */
export function describeNumber({ kind, min, above }: NumberSetting): string {
  return `a ${kind === 'whole' ? 'whole ' : ''}number ${min !== undefined ? `from ${min}` : `above ${above}`}`;
}

/** Returns why a value is not a valid name or short text. */
export function textProblem(value: unknown, lengthMax: number = nameLengthMax): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return `must be a text, got ${describeValue(value)}`;
  return value.length > lengthMax ? `must have at most ${lengthMax} characters, got ${value.length}` : undefined;
}

function textsProblem(choices: readonly string[] | undefined, value: unknown): string | undefined {
  if (!Array.isArray(value)) return `must be a list of texts, got ${describeValue(value)}`;
  for (let index = 0; index < value.length; index++) {
    const item: unknown = value[index];
    const isChoice = !choices || choices.includes(item as string);
    const problem = isChoice ? textProblem(item) : `must be ${formatChoices(choices)}, got ${describeValue(item)}`;
    if (problem) return `[${index}] ${problem}`;
  }
  // A rule without a place to look in would never fire.
  if (choices && value.length === 0) return `must name at least one of ${formatChoices(choices)}`;
  return undefined;
}

function mapProblem(value: unknown, itemProblem: (item: unknown) => string | undefined): string | undefined {
  if (!isTable(value)) return `must be a table of names, got ${describeValue(value)}`;
  for (const name of Object.keys(value)) {
    const problem = reservedNames.includes(name)
      ? 'is a reserved name'
      : (textProblem(name) ?? itemProblem(value[name]));
    if (problem) return `[${describeValue(name)}] ${problem}`;
  }
  return undefined;
}

/** Formats choices: `"a", "b" or "c"`. */
export function formatChoices(choices: readonly string[]): string {
  const quoted = choices.map((word) => `"${word}"`);
  return quoted.length > 1 ? `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}` : `${quoted[0]}`;
}
