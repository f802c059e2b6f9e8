/** Controls of the user, kept from harm: one that throws at the gate refuses the call, elsewhere it is passed over. */

import type { Control } from '../core/control.ts';
import { allow } from '../core/verdict.ts';
import { type Guard, isStop } from './guard.ts';

/** What a control threw while it learnt, until somebody looks. */
export interface Harm {
  error: unknown;
}

/** The control as the panel sees it. What throws while it learns must not keep the others from learning. */
export function tolerant(
  control: Control<never>,
  harm: Harm,
  onError: (where: string, error: unknown) => void,
): Control<never> {
  const guarded = <T>(where: string, instead: T, run: () => T): T => {
    try {
      return run();
    } catch (error) {
      harm.error = error ?? true;
      onError(`control ${control.name}: ${where}`, error);
      return instead;
    }
  };
  return {
    name: control.name,
    scope: control.scope,
    initial: (atMs) => control.initial(atMs),
    judge: (state, proposal, place) => control.judge(state, proposal, place),
    apply: (state, event, place) => guarded('apply', state, () => control.apply(state, event, place)),
    check: (state, atMs) => guarded('check', allow, () => control.check?.(state, atMs) ?? allow),
    due: (state, action) => guarded('due', allow, () => control.due?.(state, action) ?? allow),
    gauges: (state, atMs) => guarded('gauges', [], () => control.gauges?.(state, atMs) ?? []),
  };
}

/** The gate fails closed: a control that could not learn of an admission takes it back. */
export function failingClosed(guard: Guard, harm: Harm): Guard {
  return {
    ...guard,
    admit(lane, action, atMs) {
      harm.error = undefined;
      const admission = guard.admit(lane, action, atMs);
      if (harm.error === undefined || isStop(admission)) return admission;
      const { error } = harm;
      guard.giveBack(lane, admission, atMs);
      throw error;
    },
  };
}
