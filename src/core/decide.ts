/** The one reducer: all controls judge the same state, the strictest verdict wins, and each learns what was decided. */

import type { Action } from './action.ts';
import type { Control, Place } from './control.ts';
import type { ActionProposed, ControlEvent } from './event.ts';
import { allow, type Decision, stricter, type Verdict, type Vote } from './verdict.ts';

/** A control at the cell it looks at, and whose cell that is. */
export interface Seat<S = unknown> {
  readonly control: Control<S>;
  readonly cell: { state: S };
  readonly place: Place;
  /** The task whose cell it is, where it is an ancestor's. */
  readonly owner?: string;
}

/** The controls that judge an action. Their order decides nothing; the first of equals is named. */
export type Panel = readonly Seat[];

/** The decision of most actions; it carries no data, so it is shared. */
export const allowed: Decision = Object.freeze({ verdict: allow, votes: Object.freeze([]) });

/** Judges an action. It writes nothing. Votes are spelt out only where not everyone said allow. */
export function decide(panel: Panel, proposal: ActionProposed): Decision {
  for (let at = 0; at < panel.length; at++) {
    const seat = panel[at]!;
    if (seat.control.judge(seat.cell.state, proposal, seat.place) !== allow) return vote(panel, proposal);
  }
  return allowed;
}

function vote(panel: Panel, proposal: ActionProposed): Decision {
  let verdict: Verdict = allow;
  const votes: Vote[] = [];
  for (const seat of panel) {
    const said = owned(seat, seat.control.judge(seat.cell.state, proposal, seat.place));
    votes.push({ control: seat.control.name, verdict: said });
    verdict = stricter(verdict, said);
  }
  return { verdict, votes };
}

/** Tells every control of the panel what happened. */
export function applyAll(panel: Panel, event: ControlEvent): void {
  for (let at = 0; at < panel.length; at++) {
    const seat = panel[at]!;
    seat.cell.state = seat.control.apply(seat.cell.state, event, seat.place);
  }
}

/** The strictest of what is due without any action, or after one ended. */
export function checkAll(panel: Panel, atMs: number, ended?: Action): Verdict {
  let verdict: Verdict = allow;
  for (const seat of panel) {
    const said = seat.control.check?.(seat.cell.state, atMs) ?? allow;
    if (said !== allow) verdict = stricter(verdict, owned(seat, said));
    if (ended !== undefined && seat.control.due !== undefined) {
      verdict = stricter(verdict, seat.control.due(seat.cell.state, ended));
    }
  }
  return verdict;
}

/** A halt on an ancestor's account ends the ancestor. */
function owned(seat: Seat, said: Verdict): Verdict {
  if (seat.owner === undefined || said.kind !== 'halt' || said.ends !== undefined) return said;
  return { ...said, ends: seat.owner };
}
