/** Answers cards, and makes the options that try a halted task again with its limit raised. */

import {
  type AnsweredCard,
  type Card,
  type CardAction,
  cardActions,
  describeOtherAnswers,
  parseEditedArgs,
} from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { answerPollMs, raisesMax, shownInputMax } from '../../core/limits.ts';
import type { TaskOptions } from '../api.ts';
import { keepRequest } from '../approval/edited-args.ts';
import { readInput, requestId } from '../approval/sealed-input.ts';
import { addListener } from '../journal/journal.ts';
import { type Checks, choices, signal as isSignal, name, options, text } from '../runtime/option-checks.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { updateCard } from '../tasks/cards.ts';
import { countRaises, raiseLimits } from '../tasks/raised-limit.ts';
import type { TaskState } from '../tasks/task.ts';

const isAnswer = choices(...cardActions);
const waitChecks: Checks = { signal: isSignal };

/** Records the answer to a card and passes it to the call that waits for it; undefined if the id is unknown. */
export function answerCard(
  runtime: Runtime,
  id: string,
  answer: CardAction,
  by: string,
  request?: string,
): Card | undefined {
  isAnswer('the answer', answer);
  name('the name of the person who answers', by);
  if (request !== undefined) text('the request', request);
  const { store, clock } = runtime;
  const atMs = clock.nowMs();
  const card = store.card(id);
  if (card === undefined) return undefined;
  const objection = describeOtherAnswers(card, answer);
  if (objection !== undefined) throw new SwitchgearError('not_answered', objection);
  if (card.state === 'open' && card.expiresAtMs !== undefined && atMs >= card.expiresAtMs)
    return updateCard(runtime, id, { type: 'card-expired', atMs });
  const args = answer === 'approve_edited' ? parseEditedArgs(request ?? '') : undefined;
  const waiting = card.kind === 'ask' ? runtime.waiting.get(id) : undefined;
  if (answer === 'approve' || answer === 'decline' || args !== undefined)
    waiting?.({ approved: answer !== 'decline', by, ...(args && { args }) });
  if (request !== undefined && waiting === undefined && card.state === 'open')
    keepRequest(store, runtime.inputs, id, args === undefined ? request.slice(0, shownInputMax) : request);
  return updateCard(runtime, id, { type: 'card-answered', atMs, answer, by });
}

/** Waits until a card is answered or expired, in this process or in another one on the store. */
export function waitForAnswer(
  runtime: Runtime,
  id: string,
  waitOptions: { readonly signal?: AbortSignal } = {},
): Promise<AnsweredCard | undefined> {
  name('the id of a card', id);
  options('wait options', waitOptions, waitChecks);
  const { store, clock } = runtime;
  const { signal } = waitOptions;
  return new Promise((resolve, reject) => {
    let stopPolling = () => {};
    const finish = (settle: () => void) => {
      isSettled = true;
      stopPolling();
      unwatch?.();
      unlisten();
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const onAbort = () => finish(() => reject(signal?.reason));
    let isSettled = false;
    const check = (): boolean => {
      if (isSettled) return true;
      store.shared?.refresh();
      const card = store.card(id);
      const isOver = card?.expiresAtMs !== undefined && clock.nowMs() >= card.expiresAtMs;
      if (runtime.isDisposed)
        finish(() =>
          reject(new SwitchgearError('disposed', 'the gear was disposed: nobody can answer its cards any more')),
        );
      else if (card?.state === 'open' && !isOver) return false;
      else finish(() => resolve(card && withRequest(runtime, card.state === 'open' ? expired(card) : card)));
      return true;
    };
    // Hints may be late or missing, so the card is also polled once a second.
    const poll = () => {
      if (!check()) stopPolling = clock.after(answerPollMs, poll, true);
    };
    const unwatch = store.shared?.watch((hint) => {
      if (hint.type === 'cell-changed' && hint.key === `card/${id}`) check();
    });
    const unlisten = addListener(runtime, (entry) => {
      if (entry.type === 'card-changed' && entry.card.id === id) check();
    });
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    poll();
  });
}

function expired(card: Card): Card {
  return { ...card, state: 'expired' };
}

async function withRequest({ store, inputs }: Runtime, card: Card): Promise<AnsweredCard> {
  const request = inputs.get(requestId(card.id)) ?? (await readInput(store, requestId(card.id)));
  return request === undefined ? card : { ...card, request };
}

/**
 * Options that start a halted task again: the tripped limit doubled, or as the answer to its card or `wanted` says; its
 * counters carried over, below the nearest ancestor that still runs, whose budget it spends from.
 * Undefined if the task is not halted, or its limits were raised `raisesMax` times already.
 */
export function makeRetryOptions(runtime: Runtime, task: string, wanted?: number): TaskOptions | undefined {
  const node = runtime.halted.get(task);
  if (node?.haltStop === undefined) return undefined;
  if (countRaises(node) >= raisesMax) return undefined;
  const { agent, session, card } = node;
  const answered = card === undefined ? undefined : runtime.store.card(card);
  const limits = raiseLimits(node, node.haltStop, wanted ?? answered?.raisedTo);
  return {
    agent,
    session,
    parent: runningAncestor(node)?.id ?? null,
    limits,
    retryOf: node.id,
    ...(node.isDelegated && { delegated: true }),
  } as TaskOptions;
}

/** The nearest ancestor that has neither halted nor ended. */
function runningAncestor({ parent }: TaskState): TaskState | undefined {
  let above = parent;
  while (above !== undefined && (above.ended || above.haltStop !== undefined)) above = above.parent;
  return above;
}
