/** The record that declares a control: its settings, codes and scope. Panel, policy, messages and replay read it. */

import type { CardAction } from '../card.ts';
import type { Control } from '../control.ts';
import type { BaseSettings, TaskSettings } from '../settings.ts';
import type { Counters } from '../verdict.ts';
import type { RefusalContext, RefusalTexts } from './refusal-texts.ts';
import type { Camel, SectionFields, SettingsOf } from './setting.ts';

/** A code of refusals. Methods state their types: `Code` and `Settings` are derived from these records. */
export interface CodeDeclaration {
  /** What a refusal with this code does, for the page of codes: `deny`, `halt`, or when which. */
  readonly kind: string;
  /** The cause and the remedy, for the page of codes. */
  readonly means: string;
  readonly remedy: string;
  /** The texts for the model and for a person. */
  texts(context: RefusalContext): RefusalTexts;
  /** What a person can do about a halted task beside a retry and a pause. */
  readonly actions?: readonly CardAction[];
  /** The task limit that a retry doubles. */
  readonly raises?: keyof TaskSettings;
  /** Whether a call caused the halt: seen from outside, the call may already have run. */
  readonly byCall?: true;
  /** Whether the counters of a recorded halt exceed the settings in force; absent if counters do not decide. */
  isExceeded?(actual: number, settings: BaseSettings, counters: Counters): boolean;
}

/** A section of the policy. Controls may share one: budget, deadline and denials share `task`. */
export interface SectionDeclaration {
  /** The name in files. */
  readonly name: string;
  readonly doc: string;
  readonly fields: SectionFields;
}

/** The settings that a control with a section of its own gets. */
export type SettingsWith<S extends SectionDeclaration> = BaseSettings & {
  readonly [N in S['name'] as Camel<N>]: SettingsOf<S['fields']>;
};

/** One line of a control in the tables of the README and of ARCHITECTURE.md. */
export interface ControlSummary {
  /** What it stops, and what it stops by default. */
  readonly stops: string;
  readonly byDefault: string;
  /** Whose state it keeps. */
  readonly statePer: string;
}

/** A number that a control needs of a call's arguments. */
export interface FeatureDeclaration {
  /** The name under which the action holds it. */
  readonly name: string;
  /** Reads the value; the action holds a number that is equal for equal values, never the value. */
  read(tool: string, args: readonly unknown[]): string | undefined;
}

/** What every control declares. */
export interface ControlDeclaration {
  readonly name: string;
  readonly summary: ControlSummary;
  readonly section?: SectionDeclaration;
  readonly codes: Readonly<Record<string, CodeDeclaration>>;
}

/** A control that the panel binds by its scope, with a cell per task, target, session or gear. */
export interface PanelDeclaration extends ControlDeclaration {
  readonly scope: Control['scope'];
  readonly feature?: FeatureDeclaration;
  /** Creates the control from the settings in force; undefined if they switch it off. */
  // biome-ignore lint/suspicious/noExplicitAny: only the control itself reads its state.
  create(settings: BaseSettings): Control<any> | undefined;
}
