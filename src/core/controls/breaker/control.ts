/** The breaker as a control: one cell per tool, model or worker, as the `scope` setting defines. */

import type { Permit } from '../../action.ts';
import type { Control } from '../../control.ts';
import type { BreakerSettings } from '../../settings.ts';
import {
  type AdmittedCall,
  countRefusal,
  endWork,
  judgeBreaker,
  recordAdmission,
  recordSettlement,
  renewProbe,
} from './breaker.ts';
import { type BreakerState, initialBreaker } from './state.ts';

/** Creates the breaker control. */
export function breaker(settings: BreakerSettings): Control<BreakerState> {
  return {
    name: 'breaker',
    scope: 'target',
    initial: () => initialBreaker(settings),
    judge: (state, proposal) => judgeBreaker(state, settings, proposal.atMs),
    apply(state, event) {
      switch (event.type) {
        case 'action-decided':
          if (event.verdict.kind === 'allow') recordAdmission(state, settings, event.action.id, event.atMs);
          // A call in the queue is not refused yet.
          else if (
            event.verdict.control === 'breaker' &&
            !(event.verdict.code === 'concurrency_limit' && event.verdict.kind === 'wait')
          )
            countRefusal(state, settings, event.atMs);
          return state;
        case 'action-settled':
          recordSettlement(state, settings, admittedCall(event.permit), event.outcome, event.atMs, event.stillRuns);
          return state;
        case 'work-ended':
          endWork(state);
          return state;
        case 'permit-renewed':
          renewProbe(state, settings, admittedCall(event.permit), event.atMs);
          return state;
        default:
          return state; // Texts and usage of the agent do not concern a target.
      }
    },
  };
}

function admittedCall(permit: Permit): AdmittedCall {
  return { id: permit.action.id, generation: permit.generation, probe: permit.probe, atMs: permit.atMs };
}
