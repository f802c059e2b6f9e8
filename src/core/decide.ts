/**
 * The reducer: all controls judge the same state, the strictest verdict wins, and each control applies the decision.
 */

import type { Action } from './action.ts';
import type { CellOwner, Control, Growth } from './control.ts';
import type { ActionProposed, ControlEvent } from './event.ts';
import { allow, type Decision, stricter, type Verdict, type Vote } from './verdict.ts';

/** A control with its cell, and the owner of the cell. */
export interface BoundControl<S = unknown> {
  readonly control: Control<S>;
  readonly cell: { state: S };
  readonly cellOwner: CellOwner;
  /** The ancestor task that owns the cell, if any. */
  readonly ancestorId?: string;
}

/** The controls that judge an action. Their order matters only between equal verdicts: the first one is reported. */
export type Panel = readonly BoundControl[];

/** The shared decision of most actions: allow, without data. */
export const allowed: Decision = Object.freeze({ verdict: allow, votes: Object.freeze([]) });

/** Judges an action without writing. Votes are listed only if a control did not allow. */
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

/** Judges a running action that reserves more, without writing. */
export function decideGrowth(panel: Panel, growth: Growth): Verdict {
  let verdict: Verdict = allow;
  for (const bound of panel) {
    const own = bound.control.judgeGrowth?.(bound.cell.state, growth) ?? allow;
    if (own !== allow) verdict = stricter(verdict, attributeToAncestor(bound, own));
  }
  return verdict;
}

/** Applies an event to every control of the panel. */
export function applyAll(panel: Panel, event: ControlEvent): void {
  for (let at = 0; at < panel.length; at++) {
    const bound = panel[at]!;
    bound.cell.state = bound.control.apply(bound.cell.state, event, bound.cellOwner);
  }
}

/** The strictest verdict that is due without an action, or after one ended. */
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

/** Assigns a halt by an ancestor's cell to the ancestor. */
function attributeToAncestor(bound: BoundControl, verdict: Verdict): Verdict {
  const ends = bound.ancestorId;
  if (ends === undefined || verdict.kind === 'allow' || verdict.ends !== undefined) return verdict;
  if (verdict.kind === 'halt') return { ...verdict, ends };
  const { raise } = verdict;
  if (raise === undefined) return verdict;
  return { ...verdict, ends, raise: { ...raise, otherwise: { ...raise.otherwise, ends } } };
}
