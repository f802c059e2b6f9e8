/** Waits for the programs that a step has left running, and makes what the run records about them. */

import type { Card } from '../../core/card.ts';
import type { EntryBody } from '../../core/event.ts';
import { stepLeftBehindMax } from '../../core/limits.ts';
import type { Task } from '../../guard/api.ts';
import { announceLeftBehind } from '../../supervisor/left-behind.ts';
import type { AbilityAftermath } from '../abilities/ability.ts';
import type { ChainStep } from '../file/chain.ts';
import type { StepState } from './state/run-state.ts';
import type { RunContext } from './storage/run-context.ts';
import type { RunWriteExtras } from './storage/runs.ts';

/** The parts of a step's end that tell about programs left running; all empty if there were none. */
export interface StepLeftovers {
  readonly leftBehind: Pick<StepState, 'leftBehind'>;
  readonly card: Pick<RunWriteExtras, 'card'>;
  readonly entries: readonly EntryBody[];
}

const none: StepLeftovers = { leftBehind: {}, card: {}, entries: [] };

/** Waits until the programs have ended or are left; the limits of the run and the time limit of the step hold. */
export async function waitForLeftovers(
  { active }: RunContext,
  step: ChainStep,
  attempt: number,
  task: Task,
  aftermath: AbilityAftermath | undefined,
): Promise<StepLeftovers> {
  if (aftermath === undefined) return none;
  const timeout = new AbortController();
  const cancel =
    step.timeoutSecs === undefined ? undefined : active.clock.after(step.timeoutSecs * 1000, () => timeout.abort());
  const found = await aftermath(AbortSignal.any([task.signal, active.signal, timeout.signal]));
  cancel?.();
  if (found === undefined) return none;
  const { run } = active;
  const limit = timeout.signal.aborted ? `longer than ${step.timeoutSecs} s` : task.halt?.explanation;
  const { lines, card } = announceLeftBehind(found, {
    noun: `the step ${step.id}`,
    name: `the step ${step.id} of ${run.chain.id}`,
    task: run.id,
    cardId: `card-left-${run.id}-${step.id}-${attempt}`,
    limit,
  });
  if (lines.length > 0) active.emit({ type: 'programs-left', run: run.id, step: step.id, lines });
  return {
    leftBehind: { leftBehind: found.processes.slice(0, stepLeftBehindMax) },
    card: card === undefined ? {} : { card: makeCardChange(card) },
    entries: card === undefined ? [] : [{ type: 'card-changed', card }],
  };
}

function makeCardChange(card: Card): NonNullable<RunWriteExtras['card']> {
  return { id: card.id, update: (stored) => stored ?? card };
}
