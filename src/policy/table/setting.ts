/** What one setting is: its kind, its range, its default, and its other names. */

import { countMax, secsMax } from '../../core/limits.ts';

interface Names {
  /** Other spellings that files may use. */
  readonly aliases?: readonly string[];
  /** A name in the environment beside the one made from the path. */
  readonly env?: string;
}

export interface NumberSetting extends Names {
  readonly kind: 'whole' | 'number';
  /** Absent = nobody looks, unless a policy says a number. */
  readonly default: number | undefined;
  readonly min?: number;
  /** A lower end that is itself too low. */
  readonly above?: number;
  readonly max: number;
  /** May be set to "none". */
  readonly optional?: boolean;
}

export interface FlagSetting extends Names {
  readonly kind: 'flag';
  readonly default: boolean;
}

export interface ChoiceSetting extends Names {
  readonly kind: 'choice';
  readonly default: string;
  readonly of: readonly string[];
}

export interface TextsSetting extends Names {
  readonly kind: 'texts';
  readonly default: readonly string[];
  readonly of?: readonly string[];
}

export interface MapSetting extends Names {
  /** A map of names to whole numbers, or to names. */
  readonly kind: 'counts' | 'names';
  readonly default: Readonly<Record<string, never>>;
  /** The names that a name may be mapped to. */
  readonly of?: readonly string[];
}

export type Setting = NumberSetting | FlagSetting | ChoiceSetting | TextsSetting | MapSetting;

/** The settings of one section, by their names in files. */
export type SectionFields = Readonly<Record<string, Setting>>;

/** The file's name of a TypeScript name: `failureThreshold` is `failure_threshold`. */
export type Snake<S extends string> = S extends `${infer H}${infer T}`
  ? `${H extends Lowercase<H> ? H : `_${Lowercase<H>}`}${Snake<T>}`
  : S;

/** One setting for every field of a type: a table that forgets one does not compile. */
export type FieldsOf<T> = { readonly [K in keyof T & string as Snake<K>]-?: Setting };

type NumberOptions = Partial<Omit<NumberSetting, 'kind' | 'default'>>;

/** A whole number from 1. Without a default it may be absent. */
export function wholeNumber(initial: number | undefined, options?: NumberOptions): NumberSetting {
  return { kind: 'whole', default: initial, min: 1, max: countMax, optional: initial === undefined, ...options };
}

/** Seconds above 0, as long as the timers of the platform can wait. */
export function secs(initial: number | undefined, options?: NumberOptions): NumberSetting {
  return { kind: 'number', default: initial, above: 0, max: secsMax, optional: initial === undefined, ...options };
}

/** A share above 0, up to 1. */
export function share(initial: number | undefined, options?: NumberOptions): NumberSetting {
  return secs(initial, { max: 1, ...options });
}

/** True or false. */
export function flag(initial: boolean): FlagSetting {
  return { kind: 'flag', default: initial };
}

/** One of some words; the first is the default. */
export function choice(...of: [string, ...string[]]): ChoiceSetting {
  return { kind: 'choice', default: of[0], of };
}

/** A list of texts. */
export function texts(initial: readonly string[], of?: readonly string[]): TextsSetting {
  return { kind: 'texts', default: initial, ...(of && { of }) };
}

/** A map, empty by default. */
export function map(kind: MapSetting['kind'], of?: readonly string[]): MapSetting {
  return { kind, default: {}, ...(of && { of }) };
}
