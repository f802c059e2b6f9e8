/** The one reducer: all controls judge the same state, the strictest verdict wins, and each learns what was decided. */

import type { Action } from './action.ts';
import type { CellOwner, Control } from './control.ts';
import type { ActionProposed, ControlEvent } from './event.ts';
import { allow, type Decision, stricter, type Verdict, type Vote } from './verdict.ts';

/** A control at the cell it looks at, and whose cell that is. */
export interface BoundControl<S = unknown> {
  readonly control: Control<S>;
  readonly cell: { state: S };
  readonly cellOwner: CellOwner;
  /** The task whose cell it is, where it is an ancestor's. */
  readonly ancestorId?: string;
}

/** The controls that judge an action. Their order decides nothing; the first of equals is named. */
export type Panel = readonly BoundControl[];

/** The decision of most actions; it carries no data, so it is shared. */
export const allowed: Decision = Object.freeze({ verdict: allow, votes: Object.freeze([]) });

/** Judges an action. It writes nothing. Votes are spelt out only where not everyone said allow. */
export function decide(panel: Panel, proposal: ActionProposed): Decision {
  for (let at = 0; at < panel.length; at++) {
    const bound = panel[at]!;
    if (bound.control.judge(bound.cell.state, proposal, bound.cellOwner) !== allow)
      return collectVotes(panel, proposal);
  }
  return allowed;
}

function collectVotes(panel: Panel, proposal: ActionProposed): Decision {
  let verdict: Verdict = allow;
  const votes: Vote[] = [];
  for (const bound of panel) {
    const ownVerdict = attributeToAncestor(bound, bound.control.judge(bound.cell.state, proposal, bound.cellOwner));
    votes.push({ control: bound.control.name, verdict: ownVerdict });
    verdict = stricter(verdict, ownVerdict);
  }
  return { verdict, votes };
}

/** Tells every control of the panel what happened. */
export function applyAll(panel: Panel, event: ControlEvent): void {
  for (let at = 0; at < panel.length; at++) {
    const bound = panel[at]!;
    bound.cell.state = bound.control.apply(bound.cell.state, event, bound.cellOwner);
  }
}

/** The strictest of what is due without any action, or after one ended. */
export function checkAll(panel: Panel, atMs: number, ended?: Action): Verdict {
  let verdict: Verdict = allow;
  for (const bound of panel) {
    const ownVerdict = bound.control.check?.(bound.cell.state, atMs) ?? allow;
    if (ownVerdict !== allow) verdict = stricter(verdict, attributeToAncestor(bound, ownVerdict));
    if (ended !== undefined && bound.control.due !== undefined) {
      verdict = stricter(verdict, bound.control.due(bound.cell.state, ended));
    }
  }
  return verdict;
}

/** A halt on an ancestor's account ends the ancestor. */
function attributeToAncestor(bound: BoundControl, verdict: Verdict): Verdict {
  if (bound.ancestorId === undefined || verdict.kind !== 'halt' || verdict.ends !== undefined) return verdict;
  return { ...verdict, ends: bound.ancestorId };
}
