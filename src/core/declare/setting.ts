/** The description of one setting: its meaning, kind, range, default, and other names. */

import { countMax, secsMax } from '../limits.ts';
import type { ToolLists } from './mcp-settings.ts';

/** The value of a limit that is switched off: no count reaches it, and JSON can write it. */
export const unlimited: number = Number.MAX_SAFE_INTEGER;

interface Described {
  /** The meaning, as the settings page, the schema and the editor show it. */
  readonly doc: string;
  /** Other spellings that files may use. */
  readonly aliases?: readonly string[];
  /** An environment variable beside the one derived from the path. */
  readonly env?: string;
}

/**
 * A setting whose values have no order of strictness. `default`: any change may protect less. `any`: no protection
 * depends on the value.
 */
type Unordered = 'default' | 'any';

/** A setting with a number. */
export interface NumberSetting<D extends number | undefined = number | undefined> extends Described {
  readonly kind: 'whole' | 'number';
  /** The direction that protects more; a number that is off counts as the highest. */
  readonly stricter: 'lower' | 'higher' | Unordered;
  /** The default; undefined means that the limit is off. */
  readonly default: D;
  readonly min?: number;
  /** An exclusive lower bound. */
  readonly above?: number;
  readonly max: number;
  /** Whether the setting accepts "none". */
  readonly optional?: boolean;
  /** The value of "none", where the setting always has one. @default undefined */
  readonly none?: number;
  /** How the value follows from another setting, if there is no default of its own. */
  readonly derived?: string;
}

/** A setting that is true or false. */
export interface FlagSetting extends Described {
  readonly kind: 'flag';
  /** The value that protects more. */
  readonly stricter: boolean | Unordered;
  readonly default: boolean;
}

/** A setting with one of some words. */
export interface ChoiceSetting<W extends string = string> extends Described {
  readonly kind: 'choice';
  /** Whether earlier or later words of `of` protect more, or all words with the strictest first, equals in a list. */
  readonly stricter: 'earlier' | 'later' | readonly (W | readonly W[])[] | Unordered;
  readonly default: W;
  readonly of: readonly W[];
}

/** A setting with a list of texts. */
export interface TextsSetting extends Described {
  readonly kind: 'texts';
  /** Whether more or fewer texts protect more. */
  readonly stricter: 'more' | 'fewer' | Unordered;
  readonly default: readonly string[];
  readonly of?: readonly string[];
}

/** A setting with a map by name. */
export interface MapSetting<K extends 'counts' | 'names' = 'counts' | 'names'> extends Described {
  /** A map of names to whole numbers, or to names. */
  readonly kind: K;
  /** Whether fewer entries protect more, or lower numbers, where names without one have that of `lowerThan`. */
  readonly stricter: 'fewer' | { readonly lowerThan: string } | Unordered;
  readonly default: Readonly<Record<string, never>>;
  /** The allowed values of the map. */
  readonly of?: readonly string[];
}

/** A setting with lists of tools by server: which of them may be used. */
export interface ToolsSetting extends Described {
  readonly kind: 'tools';
  /** Fewer tools protect more. */
  readonly stricter: 'fewer';
  readonly default: ToolLists;
}

/** The description of one setting. */
export type Setting = NumberSetting | FlagSetting | ChoiceSetting | TextsSetting | MapSetting | ToolsSetting;

/** The settings of one section, by their names in files. */
export type SectionFields = Readonly<Record<string, Setting>>;

/** The name in files of a TypeScript name: `failureThreshold` becomes `failure_threshold`. */
export type Snake<S extends string> = S extends `${infer H}${infer T}`
  ? `${H extends Lowercase<H> ? H : `_${Lowercase<H>}`}${Snake<T>}`
  : S;

/** The TypeScript name of a name in files: `failure_threshold` becomes `failureThreshold`. */
export type Camel<S extends string> = S extends `${infer H}_${infer T}` ? `${H}${Capitalize<Camel<T>>}` : S;

/** A setting for every field of a type: a table with a missing field does not compile. */
export type FieldsOf<T> = { readonly [K in keyof T & string as Snake<K>]-?: Setting };

/** The values that a table of fields describes, under their TypeScript names. */
export type SettingsOf<F> = { readonly [K in keyof F & string as Camel<K>]: ValueOf<F[K]> };

type ValueOf<S> =
  S extends NumberSetting<infer D>
    ? undefined extends D
      ? number | undefined
      : number
    : S extends FlagSetting
      ? boolean
      : S extends ChoiceSetting<infer W>
        ? W
        : S extends TextsSetting
          ? readonly string[]
          : S extends ToolsSetting
            ? ToolLists
            : Readonly<Record<string, S extends MapSetting<'counts'> ? number : string>>;

type NumberOptions = Partial<Omit<NumberSetting, 'kind' | 'default' | 'doc' | 'stricter'>>;

/** Describes a whole number from 1. Without a default the setting is optional. */
export function wholeNumber<D extends number | undefined>(
  doc: string,
  initial: D,
  stricter: NumberSetting['stricter'],
  options?: NumberOptions,
): NumberSetting<D> {
  const range = { min: 1, max: countMax, optional: initial === undefined, ...options };
  return { doc, kind: 'whole', default: initial, stricter, ...range };
}

/** Describes seconds above 0, up to the longest timer of the platform. */
export function secs<D extends number | undefined>(
  doc: string,
  initial: D,
  stricter: NumberSetting['stricter'],
  options?: NumberOptions,
): NumberSetting<D> {
  const range = { above: 0, max: secsMax, optional: initial === undefined, ...options };
  return { doc, kind: 'number', default: initial, stricter, ...range };
}

/** Describes a share above 0, up to 1. */
export function share<D extends number | undefined>(
  doc: string,
  initial: D,
  stricter: NumberSetting['stricter'],
  options?: NumberOptions,
): NumberSetting<D> {
  return secs(doc, initial, stricter, { max: 1, ...options });
}

/** Describes a boolean. */
export function flag(doc: string, initial: boolean, stricter: FlagSetting['stricter']): FlagSetting {
  return { doc, kind: 'flag', default: initial, stricter };
}

/** Describes a choice of words; the first word is the default. */
export function choice<const W extends string>(
  doc: string,
  stricter: ChoiceSetting<NoInfer<W>>['stricter'],
  ...of: [W, ...W[]]
): ChoiceSetting<W> {
  return { doc, kind: 'choice', default: of[0], stricter, of };
}

/** Describes a list of texts. */
export function texts(
  doc: string,
  initial: readonly string[],
  stricter: TextsSetting['stricter'],
  of?: readonly string[],
): TextsSetting {
  return { doc, kind: 'texts', default: initial, stricter, ...(of && { of }) };
}

/** Describes a map, empty by default. */
export function map<K extends MapSetting['kind']>(
  doc: string,
  kind: K,
  stricter: MapSetting<K>['stricter'],
  of?: readonly string[],
): MapSetting<K> {
  return { doc, kind, default: {}, stricter, ...(of && { of }) };
}

/** Adds the meaning of each field, where it is not written beside the field. */
export function documentFields<F extends SectionFields>(fields: F, docs: Readonly<Record<keyof F, string>>): F {
  return Object.fromEntries(
    Object.entries(fields).map(([name, setting]) => [name, { ...setting, doc: docs[name]! }]),
  ) as F;
}
