/** The description of one setting: its kind, range, default, and other names. */

import { countMax, secsMax } from '../../core/limits.ts';

interface Names {
  /** Other spellings that files may use. */
  readonly aliases?: readonly string[];
  /** An environment variable beside the one derived from the path. */
  readonly env?: string;
}

/** A setting with a number. */
export interface NumberSetting extends Names {
  readonly kind: 'whole' | 'number';
  /** The default; undefined means that the limit is off. */
  readonly default: number | undefined;
  readonly min?: number;
  /** An exclusive lower bound. */
  readonly above?: number;
  readonly max: number;
  /** Whether the setting accepts "none". */
  readonly optional?: boolean;
}

/** A setting that is true or false. */
export interface FlagSetting extends Names {
  readonly kind: 'flag';
  readonly default: boolean;
}

/** A setting with one of some words. */
export interface ChoiceSetting extends Names {
  readonly kind: 'choice';
  readonly default: string;
  readonly of: readonly string[];
}

/** A setting with a list of texts. */
export interface TextsSetting extends Names {
  readonly kind: 'texts';
  readonly default: readonly string[];
  readonly of?: readonly string[];
}

/** A setting with a map by name. */
export interface MapSetting extends Names {
  /** A map of names to whole numbers, or to names. */
  readonly kind: 'counts' | 'names';
  readonly default: Readonly<Record<string, never>>;
  /** The allowed values of the map. */
  readonly of?: readonly string[];
}

/** The description of one setting. */
export type Setting = NumberSetting | FlagSetting | ChoiceSetting | TextsSetting | MapSetting;

/** The settings of one section, by their names in files. */
export type SectionFields = Readonly<Record<string, Setting>>;

/** The name in files of a TypeScript name: `failureThreshold` becomes `failure_threshold`. */
export type Snake<S extends string> = S extends `${infer H}${infer T}`
  ? `${H extends Lowercase<H> ? H : `_${Lowercase<H>}`}${Snake<T>}`
  : S;

/** A setting for every field of a type: a table with a missing field does not compile. */
export type FieldsOf<T> = { readonly [K in keyof T & string as Snake<K>]-?: Setting };

type NumberOptions = Partial<Omit<NumberSetting, 'kind' | 'default'>>;

/** Describes a whole number from 1. Without a default the setting is optional. */
export function wholeNumber(initial: number | undefined, options?: NumberOptions): NumberSetting {
  return { kind: 'whole', default: initial, min: 1, max: countMax, optional: initial === undefined, ...options };
}

/** Describes seconds above 0, up to the longest timer of the platform. */
export function secs(initial: number | undefined, options?: NumberOptions): NumberSetting {
  return { kind: 'number', default: initial, above: 0, max: secsMax, optional: initial === undefined, ...options };
}

/** Describes a share above 0, up to 1. */
export function share(initial: number | undefined, options?: NumberOptions): NumberSetting {
  return secs(initial, { max: 1, ...options });
}

/** Describes a boolean. */
export function flag(initial: boolean): FlagSetting {
  return { kind: 'flag', default: initial };
}

/** Describes a choice of words; the first word is the default. */
export function choice(...of: [string, ...string[]]): ChoiceSetting {
  return { kind: 'choice', default: of[0], of };
}

/** Describes a list of texts. */
export function texts(initial: readonly string[], of?: readonly string[]): TextsSetting {
  return { kind: 'texts', default: initial, ...(of && { of }) };
}

/** Describes a map, empty by default. */
export function map(kind: MapSetting['kind'], of?: readonly string[]): MapSetting {
  return { kind, default: {}, ...(of && { of }) };
}
