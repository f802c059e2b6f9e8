/** Delegation limits in the state of a graph, for supervisor nodes that send work to other nodes. */

import { peek } from '../../core/classify.ts';
import { findCauseHint } from '../../core/controls/delegation/cause-hint.ts';
import { type FailureCounts, failuresOf, workerLimit } from '../../core/controls/delegation/delegation.ts';
import { blockReason, failureLines, tripLine, userMessage } from '../../core/controls/delegation/messages.ts';
import { phrasesOf, readWorkerFailure } from '../../core/controls/worker-failure.ts';
import { workersMax } from '../../core/limits.ts';
import { delegationPolicyPrompt } from '../../core/messages/prompts.ts';
import type { Switchgear } from '../../guard/api.ts';
import { defaultSwitchgear } from '../../guard/create-switchgear.ts';
import { runtimeOf } from '../../guard/internal.ts';
import { wait } from '../../platform/system-clock.ts';
import type { MessageLike } from '../langchain/shapes.ts';
import { isApproval } from '../langchain/tool.ts';

/** State beside the counts: the last message that was read, and the time and reason of each worker's last failure. */
export interface DelegationNotes {
  /** The id of the last message that was read. */
  readonly seen?: string;
  /** The wall time of each worker's last failure. */
  readonly failedAtMs?: Readonly<Record<string, number>>;
  readonly reasons?: Readonly<Record<string, string>>;
}

/** The part of a graph's state that the supervisor reads. */
export interface SupervisedState {
  readonly messages?: readonly MessageLike[];
  readonly delegation_failures?: FailureCounts;
  readonly delegation_notes?: DelegationNotes;
}

/** The update that a node returns. Counts are added to the state, so failures of parallel branches all count. */
export interface SupervisedUpdate {
  readonly delegation_failures?: FailureCounts;
  readonly delegation_notes?: DelegationNotes;
}

/** The next worker and the update of the state. */
export interface NextStep {
  /** The worker to send; undefined ends the run. */
  readonly worker: string | undefined;
  /** The message for the user if a limit ended the run. */
  readonly message?: string;
  readonly update: SupervisedUpdate;
}

/** Options of `supervisor`. */
export interface SupervisorOptions {
  /**
   * The gear whose `delegation` settings apply.
   * @default defaultSwitchgear()
   */
  readonly gear?: Switchgear;
  /** The names of the workers, as in the `name` of their messages. */
  readonly workers: readonly string[];
  /**
   * Called before a limit ends the run; pass `interrupt`. An approval gives the worker one more try.
   * @default none
   */
  readonly ask?: (question: string) => unknown;
  /**
   * Receives a line for each failure and trip.
   * @default none
   */
  readonly log?: (line: string) => void;
}

/** A graph node that chooses workers and counts their failures. */
export interface Supervisor {
  /** For the state: `delegation_failures: Annotation(supervisor.failures)`. */
  readonly failures: Channel<FailureCounts>;
  /** For the state: `delegation_notes: Annotation(supervisor.notes)`. */
  readonly notes: Channel<DelegationNotes>;
  /** A text about the limit for the supervisor's prompt. */
  readonly prompt: string;
  /** Returns the update that counts a failure. Several nodes may return one in the same step. */
  recordDelegationFailure(state: SupervisedState, worker: string, reason: string): SupervisedUpdate;
  /** Whether work may be delegated to a worker, and if not, the reason. */
  checkCircuitBreaker(state: SupervisedState, worker: string): [mayDelegate: boolean, reason: string];
  /** Runs one turn of the supervisor: reads the last worker's message, calls `choose`, and returns the next worker. */
  next(state: SupervisedState, choose: Choose): Promise<NextStep>;
}

/** Chooses the next worker, or undefined if the work is done. */
export type Choose = (state: SupervisedState) => string | undefined | Promise<string | undefined>;

interface Channel<T> {
  readonly reducer: (current: T, update: T) => T;
  readonly default: () => T;
}

/**
 * Creates a supervisor with the delegation limits of a gear.
 * @example
 * import { supervisor } from 'switchgear/adapters/langgraph';
 *
 * const team = supervisor({ workers: ['researcher', 'writer'] });
 * const { worker, message, update } = await team.next({ messages: [] }, () => 'researcher');
 */
export function supervisor({ gear = defaultSwitchgear(), workers, ask, log }: SupervisorOptions): Supervisor {
  const { clock } = runtimeOf(gear);
  const { delegation } = gear.settings;
  const limitOf = (worker: string) => workerLimit(gear.settings.delegation, worker);

  /** The failures of a worker that still count. */
  function countFailures(
    { delegation_failures: counts = {}, delegation_notes: notes }: SupervisedState,
    worker: string,
  ): number {
    const { resetAfterSecs = Number.POSITIVE_INFINITY } = gear.settings.delegation;
    const sinceMs = clock.wallMs() - (notes?.failedAtMs?.[worker] ?? clock.wallMs());
    return sinceMs > 1000 * resetAfterSecs ? 0 : failuresOf(counts, worker);
  }

  function recordDelegationFailure(state: SupervisedState, worker: string, reason: string): SupervisedUpdate {
    const count = countFailures(state, worker) + 1;
    const limit = limitOf(worker);
    const lines = [
      ...failureLines(worker, count, limit, reason),
      ...(count < limit ? [] : [tripLine(worker, count, limit)]),
    ];
    for (const line of lines) log?.(line);
    // Failures that are too old to count are subtracted in the same update.
    const forgotten = failuresOf(state.delegation_failures ?? {}, worker) - (count - 1);
    return {
      delegation_failures: { [worker]: 1 - forgotten },
      delegation_notes: { failedAtMs: { [worker]: clock.wallMs() }, reasons: { [worker]: reason } },
    };
  }

  function checkCircuitBreaker(state: SupervisedState, worker: string): [boolean, string] {
    const count = countFailures(state, worker);
    const limit = limitOf(worker);
    return count < limit ? [true, ''] : [false, blockReason(worker, count, limit)];
  }

  /** Counts a failure if the last message is from a worker and reports one; reads each message once. */
  function readLastMessage(state: SupervisedState): SupervisedUpdate {
    const last = state.messages?.at(-1) as (MessageLike & { readonly name?: string }) | undefined;
    const worker = last?.name;
    if (worker === undefined || !workers.includes(worker)) return {};
    if (last?.id !== undefined && last.id === state.delegation_notes?.seen) return {};
    const previous = findPreviousAnswer(state.messages ?? [], worker, workers);
    const { failed, reason } = readWorkerFailure(last, {
      phrases: phrasesOf(gear.settings.delegation),
      worker,
      ...(previous !== undefined && { previous }),
    });
    const readMarker = last?.id === undefined ? {} : { seen: last.id };
    if (!failed) return { delegation_notes: readMarker };
    const update = recordDelegationFailure(state, worker, reason);
    return { ...update, delegation_notes: { ...update.delegation_notes, ...readMarker } };
  }

  async function next(state: SupervisedState, choose: Choose): Promise<NextStep> {
    const update = readLastMessage(state);
    const updated = applyUpdate(state, update);
    const chosen = await choose(updated);
    if (chosen === undefined) return { worker: undefined, update };
    const alternative = getOwn(gear.settings.delegation.alternatives, chosen);
    const worker = [chosen, alternative].find((each) => each !== undefined && checkCircuitBreaker(updated, each)[0]);
    if (worker !== undefined) {
      await backOff(countFailures(updated, worker));
      return { worker, update };
    }
    const hint = findCauseHint([updated.delegation_notes?.reasons?.[chosen] ?? '']);
    const message = userMessage(chosen, limitOf(chosen), hint);
    return isApproval(ask?.(message)) ? { worker: chosen, update } : { worker: undefined, message, update };
  }

  /** Waits 2, 4, 8 … seconds before the next delegation to a worker that failed, if `backoff` is on. */
  async function backOff(failures: number): Promise<void> {
    if (failures === 0 || !gear.settings.delegation.backoff) return;
    await wait(clock, 1000 * 2 ** failures);
  }

  return {
    failures: { reducer: addCounts, default: () => ({}) },
    notes: { reducer: mergeNotes, default: () => ({}) },
    prompt: delegationPolicyPrompt(delegation.maxFailures),
    recordDelegationFailure,
    checkCircuitBreaker,
    next,
  };
}

/** The earlier answer of a worker to the request that it has just answered again; undefined if there is none. */
function findPreviousAnswer(messages: readonly unknown[], worker: string, workers: readonly string[]): unknown {
  const nameAt = (at: number) => (messages[at] as { readonly name?: string } | undefined)?.name ?? '';
  /** The last message before an answer that no worker wrote. */
  const requestBefore = (at: number): unknown => {
    let before = at - 1;
    while (before >= 0 && workers.includes(nameAt(before))) before--;
    return messages[before];
  };
  const last = messages.length - 1;
  let earlier = last - 1;
  while (earlier >= 0 && nameAt(earlier) !== worker) earlier--;
  if (earlier < 0) return undefined;
  const [asked, askedBefore] = [requestBefore(last), requestBefore(earlier)];
  const words = peek(asked, 'content');
  const isSame = asked === askedBefore || (typeof words === 'string' && words === peek(askedBefore, 'content'));
  return isSame ? messages[earlier] : undefined;
}

/** The state after an update. */
function applyUpdate(state: SupervisedState, update: SupervisedUpdate): SupervisedState {
  return {
    ...state,
    delegation_failures: addCounts(state.delegation_failures ?? {}, update.delegation_failures ?? {}),
    delegation_notes: mergeNotes(state.delegation_notes ?? {}, update.delegation_notes ?? {}),
  };
}

/** Adds counts, so that failures of parallel branches are all kept. */
function addCounts(current: FailureCounts, update: FailureCounts): FailureCounts {
  const next: Record<string, number> = { ...current };
  for (const [worker, count] of Object.entries(update)) {
    if (worker in next || Object.keys(next).length < workersMax)
      next[worker] = Math.max(0, failuresOf(next, worker) + count);
  }
  return next;
}

function mergeNotes(current: DelegationNotes, update: DelegationNotes): DelegationNotes {
  return {
    ...current,
    ...update,
    failedAtMs: { ...current.failedAtMs, ...update.failedAtMs },
    reasons: { ...current.reasons, ...update.reasons },
  };
}

function getOwn<V>(record: Readonly<Record<string, V>>, name: string): V | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
