/** Tells whether an event comes from the host of its session, and records the host and how it launches its hooks. */

import { readFileSync, statSync } from 'node:fs';
import type { Card } from '../core/card.ts';
import { hookHostsMax, hookTranscriptBytesMax, hostRecordMs } from '../core/limits.ts';
import { openCard } from '../guard/internal.ts';
import { isPlacedApart } from '../supervisor/guarded-agents.ts';
import { formatProcessChain } from '../supervisor/process-chain.ts';
import { findProcess, type ProcessInfo } from '../supervisor/process-table.ts';
import { type RecordedHost, readRecordedHosts, recordHost } from '../supervisor/recorded-agents.ts';
import { describeLaunch, findHookCommand, type HookLaunch, type HookOrigin } from './hook-origin.ts';
import type { HookEvent } from './hosts/hook-event.ts';
import type { HookContext } from './session/hook-tasks.ts';
import type { LockedSession } from './session/session-lock.ts';
import type { SessionState } from './session/session-state.ts';

/** The source of an event: the host of its session, a second process of the session, or a tool of the agent. */
export type HookEventSource = 'host' | 'other host' | 'tool';

/** An event to be placed. */
export interface PlacedEvent {
  readonly session: string;
  readonly type: HookEvent['type'];
  readonly origin: HookOrigin;
  /** The settings files in which hooks are installed. */
  listSettings(): readonly string[];
}

type Place = { readonly source: HookEventSource; readonly launch?: HookLaunch };

/** Finds the source of the event and records the host; events of others are reported. */
export async function placeEvent(context: HookContext, locked: LockedSession, event: PlacedEvent): Promise<void> {
  const { origin, session } = event;
  const { source, launch } = await findPlace(context, locked, event);
  locked.source = source;
  if (source === 'host') await recordSessionHost(context, locked, event, launch);
  if (source === 'other host' && origin.host !== undefined)
    await recordHost(context.store, origin.host, { agent: context.agent, session });
  // Hosts may launch the last hook of a session in another manner.
  const isReported = source !== 'tool' || event.type !== 'session-ended';
  if (source !== 'host' && isReported) reportForeignEvents(context, session, origin, source);
}

async function findPlace(context: HookContext, locked: LockedSession, event: PlacedEvent): Promise<Place> {
  const { origin } = event;
  const { hosts = [] } = locked.state;
  const isKnown = (each: ProcessInfo) => hosts.some((host) => isSame(host, each));
  const launches = [origin.launch, origin.innerLaunch].filter((each) => each !== undefined);
  const known = launches.find(({ host }) => isKnown(host));
  if (known !== undefined) {
    const isExpected = locked.state.isLearned !== true || isKnownLaunch(known, locked.state, event);
    return { source: isExpected ? 'host' : 'tool', launch: known };
  }
  if (origin.ancestors.some(isKnown)) return { source: 'tool' };
  const alive = hosts.filter(({ pid, began }) => findProcess(pid)?.began === began);
  if (alive.length > 0) {
    if (origin.host === undefined) return { source: 'tool' };
    if (!isPlacedApart(origin.ancestors, alive)) return { source: 'other host' };
  }
  return placeNewHost(context, locked, event, launches);
}

/** Places the first event of a host in a session. The host may have launched hooks of other sessions. */
async function placeNewHost(
  { store, joined, conversationKey }: HookContext,
  locked: LockedSession,
  event: PlacedEvent,
  launches: readonly HookLaunch[],
): Promise<Place> {
  const recorded = await readRecordedHosts(store, event.origin.ancestors);
  const findRecord = (host: ProcessInfo) => recorded.find(({ process: each }) => isSame(each, host));
  const launch = launches.find((each) => {
    const record = findRecord(each.host);
    return record?.isLearned !== true || isKnownLaunch(each, record, event);
  });
  if (launch === undefined && launches.length > 0) return { source: 'tool' };
  const own = launch && findRecord(launch.host);
  const { launches: learned = [], isLearned = false } = own ?? {};
  // The agents above the host started it; a run around them all books it.
  const outer = joined?.isWatched ? [] : listOuter(recorded, launch?.host, conversationKey);
  const { transcript: _, outer: _before, ...state } = locked.state;
  locked.state = { ...endIfDue(state), launches: learned, isLearned, ...(outer.length > 0 && { outer }) };
  return { source: 'host', ...(launch && { launch }) };
}

/** The sessions of the agents above a host. */
function listOuter(recorded: readonly RecordedHost[], host: ProcessInfo | undefined, conversationKey: string) {
  const above = recorded.filter(({ process: each }) => host === undefined || !isSame(each, host));
  const sessions = above.flatMap(({ conversation, session }) =>
    conversation === undefined || conversation === conversationKey ? [] : [{ conversation, session }],
  );
  return sessions.filter(
    ({ conversation }, at) => sessions.findIndex((each) => each.conversation === conversation) === at,
  );
}

/** A session whose end came while a call was running has ended once its host is gone. */
function endIfDue({ isEnding, ...state }: SessionState): SessionState {
  if (isEnding !== true) return state;
  const { policy: _, ...others } = state;
  return others;
}

function isSame(one: Pick<ProcessInfo, 'pid' | 'began'>, other: Pick<ProcessInfo, 'pid' | 'began'>): boolean {
  return one.pid === other.pid && one.began === other.began;
}

/** Whether the host launched hooks in this manner before its first call, or has installed this command. */
function isKnownLaunch(
  launch: HookLaunch,
  { launches = [] }: Pick<SessionState, 'launches'>,
  { listSettings }: PlacedEvent,
): boolean {
  const [surroundings, whole] = describeLaunch(launch);
  if (launches.includes(whole)) return true;
  const command = launches.includes(surroundings) ? findHookCommand(launch) : undefined;
  return command !== undefined && listSettings().some((path) => holdsCommand(path, command));
}

function holdsCommand(path: string, command: string): boolean {
  try {
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > hookTranscriptBytesMax) return false;
    return readFileSync(path, 'utf8').includes(JSON.stringify(command));
  } catch {
    return false; // The file does not exist.
  }
}

/** Records the host of a session once, so that no command below the host acts as an operator; and its launches. */
async function recordSessionHost(
  { store, agent, conversationKey }: HookContext,
  locked: LockedSession,
  { session, type }: PlacedEvent,
  launch: HookLaunch | undefined,
): Promise<void> {
  if (launch === undefined) return;
  const { hosts = [], launches = [], isLearned = false } = locked.state;
  const { host } = launch;
  const news = describeLaunch(launch).filter((each) => !launches.includes(each));
  // From the first call on, tools of the agent run.
  const isNowLearned = isLearned || type === 'call-proposed';
  const atMs = store.clock.nowMs();
  const isDue = atMs - (hosts.find((each) => isSame(each, host))?.atMs ?? Number.NEGATIVE_INFINITY) >= hostRecordMs;
  if (!isDue && news.length === 0 && isNowLearned === isLearned) return;
  const learned = { launches: [...launches, ...news].slice(0, 2 * hookHostsMax), isLearned: isNowLearned };
  locked.state = {
    ...locked.state,
    ...learned,
    hosts: [...hosts.filter((each) => !isSame(each, host)), { pid: host.pid, began: host.began, atMs }].slice(
      -hookHostsMax,
    ),
  };
  await recordHost(store, host, { agent, session, conversation: conversationKey, ...learned });
}

/** Opens a card, once for each session, about events that do not come from the host. */
function reportForeignEvents(
  { runtime }: HookContext,
  session: string,
  { ancestors }: HookOrigin,
  source: 'other host' | 'tool',
): void {
  const id = `card-events-${session}`;
  if (runtime.store.card(id) !== undefined) return;
  const chain = formatProcessChain({ links: ancestors, isComplete: true });
  const what =
    source === 'tool'
      ? `hook events of the session ${session} came from a tool of the agent and were not counted`
      : `the session ${session} is used by a second process; its successes are not counted`;
  const card: Card = {
    ...{ id, kind: 'notice', task: `hook-${session}`, code: 'notice', counters: {} },
    evidence: [what, `the processes above the hook: ${chain}`],
    actions: ['dismiss'],
    state: 'open',
  };
  openCard(runtime, card, undefined, runtime.clock.nowMs());
}
