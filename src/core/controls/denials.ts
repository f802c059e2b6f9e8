/**
 * The denials control: halts a task whose calls keep being refused. Only a call that ran and succeeded clears the
 * count. Refusals by the budget of a key or a model do not count.
 */

import type { Control, Gauge } from '../control.ts';
import type { PanelDeclaration } from '../declare/control-declaration.ts';
import { type RefusalContext, type RefusalTexts, stoppedTexts } from '../declare/refusal-texts.ts';
import { wholeNumber } from '../declare/setting.ts';
import { taskSection } from '../declare/task-section.ts';
import type { BaseSettings } from '../settings.ts';
import { allow, haltOverLimit, type Stop } from '../verdict.ts';
import { isOutsideTask } from './budget/joint-budget.ts';

/** The refusals of one task. */
export interface DenialsState {
  /** Refused calls in a row, or model turns in which every call was refused. */
  inARow: number;
  /** The current turn, if the host distinguishes turns; null = none yet. */
  turn: string | null;
  /** Whether a call of the current turn was admitted. */
  turnPassed: boolean;
}

/** Creates the denials control. */
export function denials(settings: { readonly maxDenials: number }): Control<DenialsState> {
  return {
    name: 'denials',
    scope: 'task',
    initial: () => ({ inARow: 0, turn: null, turnPassed: false }),
    judge: () => allow, // A refusal is counted when it is made, not predicted.
    apply(state, event) {
      if (event.type === 'action-settled') {
        // A successful model call does not clear the count: it is not a retry of the refused calls.
        if (event.outcome.kind === 'success' && event.permit.action.kind !== 'model') state.inARow = 0;
        return state;
      }
      if (event.type !== 'action-decided') return state;
      const { verdict, action } = event;
      if (verdict.kind === 'wait' || verdict.kind === 'ask') return state;
      if (verdict.kind !== 'allow' && (isOutsideTask(verdict) || isNoDenial(verdict))) return state;
      const refused = verdict.kind !== 'allow';
      if (action.turnId === undefined) {
        if (refused) state.inARow++;
        return state;
      }
      if (action.turnId !== state.turn) {
        state.turn = action.turnId;
        state.turnPassed = !refused;
        if (refused) state.inARow++;
      } else if (!refused && !state.turnPassed) {
        state.turnPassed = true;
        if (state.inARow > 0) state.inARow--; // One call of the turn passed, so the turn does not count.
      }
      return state;
    },
    check: ({ inARow }) =>
      inARow < settings.maxDenials ? allow : haltOverLimit('denials', 'denial_limit', inARow, settings.maxDenials),
    gauges: (state): readonly Gauge[] => [{ name: 'denials', actual: state.inARow, limit: settings.maxDenials }],
  };
}

/** A wait that was too long, amounts that a store is asked for, and the no of a person are no denials (R27). */
function isNoDenial({ code, waited, pending }: Stop): boolean {
  return code === 'rule_declined' || waited === true || pending === true;
}

export const denialsDeclaration = {
  name: 'denials',
  scope: 'task',
  summary: {
    stops: 'an agent that keeps asking for what it was refused',
    byDefault: 'five refusals in a row',
    statePer: 'task',
  },
  section: { ...taskSection, fields: { max_denials: wholeNumber('Refusals in a row that halt a task.', 5, 'lower') } },
  codes: {
    denial_limit: {
      kind: 'halt',
      means: 'too many refusals in a row',
      remedy: 'the agent keeps trying what is not allowed: change the plan or the policy',
      raises: 'maxDenials',
      byCall: true,
      isExceeded(actual: number, { task }: BaseSettings): boolean {
        return actual >= task.maxDenials;
      },
      texts(context: RefusalContext): RefusalTexts {
        const remediation = 'Stop. Tell the user what you were refused and why.';
        return stoppedTexts(context, `refused calls in a row: ${context.reached}`, remediation);
      },
    },
  },
  create(settings: BaseSettings): Control<DenialsState> {
    return denials(settings.task);
  },
} as const satisfies PanelDeclaration;
