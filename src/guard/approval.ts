/** Puts a question to a person. Nobody there, no answer in time, or a broken channel: not approved. */

import type { Card } from '../core/card.ts';
import type { Stop } from '../core/verdict.ts';
import type { Answer, Approver } from '../ports/approver.ts';
import type { Clock } from '../ports/clock.ts';
import type { Cards } from './cards.ts';
import type { Guard } from './guard.ts';
import type { Lane } from './lanes.ts';
import type { Notebook } from './notebook.ts';
import { atHalt } from './tasks.ts';

export interface Asking {
  readonly guard: Guard;
  readonly cards: Cards;
  readonly notes: Notebook;
  readonly clock: Clock;
  readonly approver: Approver | undefined;
  readonly timeoutSecs: () => number;
  /** Questions that are open, by card: `answer` may close them from elsewhere. */
  readonly open: Map<string, (answer: Answer) => void>;
}

export type Asked =
  | { readonly approvedBy: string; readonly stop?: undefined }
  | { readonly approvedBy?: undefined; readonly stop: Stop };

export async function askPerson(asking: Asking, lane: Lane, stop: Stop): Promise<Asked> {
  const { clock, guard, cards, approver } = asking;
  const refusal = (code: 'rule_declined' | 'rule_unanswered'): Asked => ({ stop: { ...stop, kind: 'deny', code } });
  if (approver === undefined) return refusal('rule_unanswered');
  const { task, target } = lane;
  const askedAtMs = clock.nowMs();
  const question = {
    kind: 'ask',
    task: task?.id ?? lane.session,
    code: stop.code,
    counters: stop.counters,
    evidence: [`${lane.agent} wants to call ${target.name}`, ...(stop.reason === undefined ? [] : [stop.reason])],
    actions: ['approve', 'decline'],
    expiresAtMs: askedAtMs + asking.timeoutSecs() * 1000,
  } as const;
  const card = cards.open(question, task, askedAtMs);
  if (task !== undefined) standStill(guard, asking.notes, lane, 'task-stopped', askedAtMs);
  const answer = await firstAnswer(asking, lane, card, approver);
  const atMs = clock.nowMs();
  if (task !== undefined) standStill(guard, asking.notes, lane, 'task-resumed', atMs);
  // An answer after its time is none: a machine that slept may hear it before its own alarm.
  if (answer === undefined || atMs >= card.expiresAtMs!) {
    cards.turn(card.id, { type: 'card-expired', atMs });
    return refusal('rule_unanswered');
  }
  const by = typeof answer.by === 'string' ? answer.by : String(approver.name);
  const said = answer.approved ? 'approve' : 'decline';
  cards.turn(card.id, { type: 'card-answered', atMs, answer: said, by });
  if (!answer.approved) return refusal('rule_declined');
  cards.turn(card.id, { type: 'card-used', atMs }); // Single use: the very call that asked goes on, and no other.
  return { approvedBy: by };
}

function standStill(
  guard: Guard,
  notes: Notebook,
  lane: Lane,
  type: 'task-stopped' | 'task-resumed',
  atMs: number,
): void {
  guard.tell(lane.task!, { type, atMs }, atMs);
  notes.write({ type }, lane.place, atMs);
}

/** The approver's answer, an answer given by hand, or undefined when time is up or the task ends. */
function firstAnswer(asking: Asking, lane: Lane, card: Card, approver: Approver): Promise<Answer | undefined> {
  const { clock, open } = asking;
  return new Promise((resolve) => {
    const controller = new AbortController();
    let forget: (() => void) | undefined;
    const finish = (answer: Answer | undefined) => {
      open.delete(card.id);
      stop();
      forget?.();
      controller.abort();
      resolve(answer);
    };
    const stop = clock.after((card.expiresAtMs ?? 0) - clock.nowMs(), () => finish(undefined), true);
    if (lane.task !== undefined) forget = atHalt(lane.task, () => finish(undefined));
    open.set(card.id, finish);
    Promise.resolve()
      .then(() => approver.ask(card, controller.signal))
      .then(
        (answer) => finish(isAnswer(answer) ? answer : undefined),
        () => finish(undefined),
      );
  });
}

function isAnswer(answer: unknown): answer is Answer {
  return typeof answer === 'object' && answer !== null && typeof (answer as Answer).approved === 'boolean';
}
