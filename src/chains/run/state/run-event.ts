/** Events of a run, for display only. */

import type { Card } from '../../../core/card.ts';
import type { RunState, StepState } from './run-state.ts';

/** The finding of one rule before a step. */
export interface RuleCheck {
  readonly rule: string;
  readonly action: 'abort' | 'confirm' | 'throttle';
  readonly fired: boolean;
  readonly value: string;
  readonly limit: string;
  readonly reason?: string;
}

/** One event of a run. */
export type RunEvent =
  | { readonly type: 'run-started' | 'run-resumed' | 'run-ended'; readonly run: RunState }
  /** `step` is empty for the start of the run and after its last step. */
  | { readonly type: 'rules-checked'; readonly run: string; readonly step: string; readonly rows: readonly RuleCheck[] }
  | { readonly type: 'step-started'; readonly run: string; readonly step: StepState; readonly ability: string }
  | { readonly type: 'step-ended'; readonly run: string; readonly step: StepState; readonly ability: string }
  /** A step has left programs running; each line says which ones, and whether they were ended. */
  | { readonly type: 'programs-left'; readonly run: string; readonly step: string; readonly lines: readonly string[] }
  /** A person is asked; the card names the rules and, in store time, when the question expires. */
  | {
      readonly type: 'question-asked';
      readonly run: string;
      readonly step: string;
      readonly card: Card;
      readonly waitMs: number;
    }
  /** No question is needed: a person approved these rules for the whole run, or always. */
  | {
      readonly type: 'approval-found';
      readonly run: string;
      readonly step: string;
      readonly by: string;
      readonly for: 'run' | 'always';
    }
  | { readonly type: 'question-answered'; readonly run: string; readonly step: string; readonly card: Card }
  /** A throttle rule or an operator's pause delays the run. */
  | { readonly type: 'step-held'; readonly run: string; readonly step: string; readonly reason: string }
  | { readonly type: 'store-away'; readonly run: string; readonly reason: string }
  | { readonly type: 'store-back'; readonly run: string };

/** Receives the events of a run. */
export type RunListener = (event: RunEvent) => void;
