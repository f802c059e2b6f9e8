/** The record that declares a control: its settings, codes and scope. Panel, policy, messages and replay read it. */

import type { CardAction } from '../card.ts';
import type { Control } from '../control.ts';
import type { BaseSettings, RaisedLimit } from '../settings.ts';
import type { Counters } from '../verdict.ts';
import type { RefusalContext, RefusalTexts } from './refusal-texts.ts';
import type { Camel, SectionFields, SettingsOf } from './setting.ts';

/** A code of refusals. Methods have explicit types, because `Code` and `Settings` are derived from these records. */
export interface CodeDeclaration {
  /** The effect of a refusal, for the page of codes: `deny`, `halt`, or the condition for each. */
  readonly kind: string;
  /** The cause and the remedy, for the page of codes. */
  readonly means: string;
  readonly remedy: string;
  /** The settings that change when it comes, as paths; those of `raises` need not be named. */
  readonly settings?: readonly string[];
  /** The texts for the model and for a person. */
  texts(context: RefusalContext): RefusalTexts;
  /** The actions of a person on a halted task, in addition to retry, pause, replan and dismiss. */
  readonly actions?: readonly CardAction[];
  /** The task limit that a retry doubles. */
  readonly raises?: RaisedLimit;
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
  /** What the control stops, and its default limits. */
  readonly stops: string;
  readonly byDefault: string;
  /** The owner of the state, e.g. a task or a tool. */
  readonly statePer: string;
}

/** A feature of a call's arguments that a control needs. */
export interface FeatureDeclaration {
  /** The name of the feature in the action. */
  readonly name: string;
  /** Reads the value; the action holds a number that is equal for equal values, never the value. */
  read(tool: string, args: readonly unknown[]): string | undefined;
}

/** The declaration of a control. */
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
