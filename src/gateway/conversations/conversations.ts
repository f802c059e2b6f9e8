/**
 * The conversations of a gateway's tasks: which one a request continues, what is new in it, and the hints that stand
 * in its history.
 */

import { evictOldest } from '../../core/bounded.ts';
import { createCallObserver } from '../../guard/entries/observed-call.ts';
import { isObserving, type Runtime, type TaskState } from '../../guard/internal.ts';
import type { GatewayTasks, Watching } from '../gateway-tasks.ts';
import type { HistoryItem } from '../shapes/shape.ts';
import { hasAnswers, type KeyedItem, nameCall, nameConversation } from './keyed-history.ts';
import { createWatched, observeHistory, type Watched } from './observe-history.ts';
import { createStoredConversations, type StoredConversation } from './stored-conversations.ts';

/** A hint for the model in a request: a text behind the message at a place. */
export interface PlacedHint {
  readonly at: number;
  readonly text: string;
}

/** The conversation of a request. */
export interface FoundConversation {
  /** The task in which its tools are watched; its halt refuses the call. */
  readonly task: TaskState;
  readonly hints: readonly PlacedHint[];
  /** Called when the request has been answered: until the next one its tools run. */
  answered(): void;
}

/** Hints in one conversation; after that there are no further ones. */
const hintsMax = 16;
/** Conversations of one task that are told apart. */
const conversationsMax = 1_000;
/** Calls of a conversation that can go on after its beginning was replaced. */
const callsBeforeCut = 3;

interface Conversation extends Watched {
  readonly id: string;
  /** Its last call by id, name and arguments. */
  lastCall: string | undefined;
  /** When its last answer ended. */
  answeredAtMs?: number;
  readonly hints: Map<string, string>;
}

/** The conversations of one task. */
interface TaskConversations {
  readonly known: Map<string, Conversation>;
  /** Names under which a conversation goes on. */
  readonly aliases: Map<string, string>;
}

export interface Conversations {
  /**
   * Observes the calls of tools in the history of a request. The id names the task in every gateway. Undefined if the
   * history has no answers or is not watched.
   */
  find(
    id: string,
    task: TaskState,
    history: readonly HistoryItem[],
  ): FoundConversation | Promise<FoundConversation> | undefined;
}

export function createConversations(runtime: Runtime, tasks: GatewayTasks): Conversations {
  const stored = createStoredConversations(runtime);
  const observeCall = createCallObserver(runtime);
  const { clock } = runtime;
  const byTask = new WeakMap<TaskState, TaskConversations>();

  function conversationsOf(task: TaskState): TaskConversations {
    const found = byTask.get(task) ?? { known: new Map(), aliases: new Map() };
    byTask.set(task, found);
    return found;
  }

  /** The conversation of a name, with a task that runs. */
  function open(id: string, task: TaskState, name: string, watching: Watching): Conversation {
    const { known } = conversationsOf(task);
    const watched = tasks.findConversation(task, name);
    const found = known.get(name);
    if (found?.task === watched) return found;
    evictOldest(known, conversationsMax);
    const made = {
      ...createWatched(watched, watching === 'loops'),
      id: `${id}~${name}`,
      lastCall: undefined,
      hints: new Map(),
    };
    known.set(name, made);
    return made;
  }

  function observeIn(
    conversation: Conversation,
    history: readonly HistoryItem[],
    before: StoredConversation | undefined,
  ): FoundConversation {
    const { task, hints } = conversation;
    adopt(conversation, before);
    const items = conversation.keys.read(history);
    const counted = Math.max(conversation.calls, before?.calls ?? 0);
    const isHalted = task.halt !== undefined;
    const { answeredAtMs = clock.nowMs() } = conversation;
    const tookMs = clock.nowMs() - answeredAtMs;
    const opened = observeHistory(runtime, observeCall, conversation, items, { counted, tookMs });
    conversation.lastCall = findLastCall(items) ?? conversation.lastCall;
    const place = task.halt === undefined && canHint() ? findHintPlace(items) : undefined;
    const text = place === undefined || hints.has(place) ? undefined : takeHint(task, opened);
    if (place !== undefined && text !== undefined && hints.size < hintsMax) hints.set(place, text);
    const isHaltedNow = task.halt !== undefined && !isHalted;
    if (conversation.calls > counted || text !== undefined || isHaltedNow) save(conversation);
    const answered = () => {
      conversation.answeredAtMs = clock.nowMs();
    };
    return { task, hints: canHint() ? placeHints(items, hints) : [], answered };
  }

  function canHint(): boolean {
    return runtime.settings.gateway.hints && !isObserving(runtime);
  }

  function save({ id, calls, hints, task }: Conversation): void {
    const { haltStop: stop, halt: refusal, card } = task;
    // A halt without a card is that of the task above it, or is stored.
    const isOwn = stop !== undefined && refusal !== undefined && card !== undefined;
    const halted = isOwn && { halt: { stop, refusal } };
    stored?.save(id, { calls, hints: [...hints], ...halted });
  }

  /** The name of the conversation that a history continues: its own, or one whose beginning was replaced. */
  function resolveName(id: string, task: TaskState, history: readonly HistoryItem[]): string {
    const { known, aliases } = conversationsOf(task);
    const own = nameConversation(history);
    const name = aliases.get(own) ?? own;
    if (known.has(name)) return name;
    const calls = new Set(history.flatMap((item) => (item.type === 'assistant' ? item.calls.map(nameWhole) : [])));
    for (const [other, { lastCall, calls: count }] of known) {
      if (lastCall === undefined || count < callsBeforeCut || !calls.has(lastCall)) continue;
      evictOldest(aliases, conversationsMax);
      aliases.set(own, other);
      stored?.save(`${id}~${own}`, { calls: 0, hints: [], follows: other });
      return other;
    }
    return own;
  }

  return {
    find(id, task, history) {
      if (task.halt !== undefined) return undefined;
      const { known, aliases } = conversationsOf(task);
      const name = resolveName(id, task, history);
      const watching = tasks.watching?.(name) ?? 'count';
      if (watching === 'none' || !hasAnswers(history)) return undefined;
      if (stored === undefined) return observeIn(open(id, task, name, watching), history, undefined);
      const isNew = !known.has(name);
      return stored.load(`${id}~${name}`).then(async (loaded) => {
        const followed = isNew ? loaded?.follows : undefined;
        if (followed === undefined) return observeIn(open(id, task, name, watching), history, loaded);
        aliases.set(name, followed);
        return observeIn(open(id, task, followed, watching), history, await stored.load(`${id}~${followed}`));
      });
    },
  };
}

/** Takes over what another gateway has added to a conversation. */
function adopt({ task, hints }: Conversation, stored: StoredConversation | undefined): void {
  if (stored === undefined) return;
  for (const [key, text] of stored.hints) if (hints.size < hintsMax && !hints.has(key)) hints.set(key, text);
  if (stored.halt === undefined || task.halt !== undefined) return;
  task.haltStop = stored.halt.stop;
  task.halt = stored.halt.refusal;
}

/** A call by its id, name and arguments. */
function nameWhole(call: { readonly id?: string | undefined; readonly name: string; readonly input: unknown }): string {
  return `${call.id ?? ''} ${nameCall(call)}`;
}

function findLastCall(items: readonly KeyedItem[]): string | undefined {
  const last = items.findLast((item) => item.type === 'assistant' && item.calls.length > 0);
  const call = last?.type === 'assistant' ? last.calls.at(-1) : undefined;
  // A call without an id looks like that of another conversation.
  return call?.id === undefined ? undefined : nameWhole(call);
}

/** The key of the newest result, if the model has not answered it. */
function findHintPlace(items: readonly KeyedItem[]): string | undefined {
  const last = items.findLast(({ type }) => type !== 'user');
  return last?.type === 'result' ? last.key : undefined;
}

/** The text of the hint that the model gets now, if any. */
function takeHint(task: TaskState, opened: ReadonlyMap<string, number>): string | undefined {
  const { loopHint } = task;
  task.loopHint = undefined;
  const broken = [...opened].map(
    ([tool, failures]) =>
      `'${tool}' ${failures > 1 ? `failed ${failures} times in a row` : 'keeps failing'}. ` +
      'Do not call it again for now. Use another way, or tell the user what you could not do.',
  );
  const texts = [...(loopHint === undefined ? [] : [loopHint]), ...broken];
  return texts.length === 0 ? undefined : `[switchgear] ${texts.join(' ')}`;
}

/** The hints of a conversation in the order of the request's messages. */
function placeHints(items: readonly KeyedItem[], hints: ReadonlyMap<string, string>): readonly PlacedHint[] {
  if (hints.size === 0) return [];
  return items.flatMap((item) => {
    const text = item.type === 'result' ? hints.get(item.key) : undefined;
    return item.type === 'result' && text !== undefined ? [{ at: item.at, text }] : [];
  });
}
