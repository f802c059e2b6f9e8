/**
 * The process that ran a hook. A host starts a hook as its child, directly or through `sh -c`. A tool of the agent
 * that starts a hook by itself is recognized by the processes between the hook and the host.
 */

import { basename } from 'node:path';
import type { Card } from '../core/card.ts';
import { hookHostsMax } from '../core/limits.ts';
import { fingerprint, openCard } from '../guard/internal.ts';
import { recordHost } from '../supervisor/guarded-agents.ts';
import { formatProcessChain, readProcessChain } from '../supervisor/process-chain.ts';
import { findProcess, type ProcessInfo, readCommandLine } from '../supervisor/process-table.ts';
import type { HookContext } from './session/hook-tasks.ts';
import type { LockedSession } from './session/session-lock.ts';
import type { SessionState } from './session/session-state.ts';

export interface HookOrigin {
  /** The first process above the hook that is no shell or launcher; undefined if there is none. */
  readonly host: ProcessInfo | undefined;
  /** The command lines of the shells and launchers between the hook and its host. */
  readonly between: readonly string[];
  /** All processes above the hook. */
  readonly ancestors: readonly ProcessInfo[];
}

const shellName = /^-?(ba|da|z|k|mk|a|fi|c|tc)?sh$/;
const launcherName = /^(npm|npx|pnpm|pnpx|yarn|bunx?|env|timeout|nice|nohup|stdbuf)(-cli)?(\.[cm]?js)?$/;

/** Reads the origin of the hook that this process is. */
export function readHookOrigin(): HookOrigin {
  const { links } = readProcessChain();
  const ancestors = links.slice(1);
  const between: string[] = [];
  for (const each of ancestors) {
    if (each.pid === 1) break;
    const words = readCommandLine(each.pid);
    const kind = recognizeCommand(words);
    // A person at a shell is no host.
    if (kind === 'interactive shell') break;
    if (kind === 'program') return { host: each, between, ancestors };
    between.push(words.join(' '));
  }
  return { host: undefined, between, ancestors };
}

/** A shell with a script file counts as a program. */
function recognizeCommand([program = '', ...args]: readonly string[]) {
  const name = basename(program);
  if (shellName.test(name)) {
    const firstWord = args.findIndex((arg) => !/^[-+]/.test(arg));
    const options = firstWord === -1 ? args : args.slice(0, firstWord);
    if (options.some((option) => /^-\w*c/.test(option))) return 'shell command';
    return firstWord === -1 ? 'interactive shell' : 'program';
  }
  const isLauncher =
    launcherName.test(name) || (/^(node|bun)$/.test(name) && launcherName.test(basename(args[0] ?? '')));
  return isLauncher ? 'launcher' : 'program';
}

/** The source of an event: the host of its session, a second process of the session, or a tool of the agent. */
export type HookEventSource = 'host' | 'other host' | 'tool';

/** A shell or launcher that runs nothing but the hook. */
const plainLaunch = /^[^|;&<>`$()\n]* hook (claude-code|codex|gemini)( [^|;&<>`$()\n]*)?$/;

/**
 * Finds the source of an event. While a call runs, a shell between host and hook that does more than run the hook is
 * the shell of a tool, unless earlier hooks of the session were started by the same command line.
 */
function findEventSource(
  { host, between, ancestors }: HookOrigin,
  { hosts = [], launches = [] }: SessionState,
  hasOpenCalls: boolean,
): HookEventSource {
  const isKnown = (each: ProcessInfo) => hosts.some(({ pid, began }) => pid === each.pid && began === each.began);
  if (host !== undefined && isKnown(host)) {
    const isPlain = between.every((line) => plainLaunch.test(line)) || launches.includes(hashLaunch(between));
    return isPlain || !hasOpenCalls ? 'host' : 'tool';
  }
  if (ancestors.some(isKnown)) return 'tool';
  const isHostAlive = hosts.some(({ pid, began }) => findProcess(pid)?.began === began);
  if (!isHostAlive) return 'host';
  return host === undefined ? 'tool' : 'other host';
}

function hashLaunch(between: readonly string[]): number {
  return fingerprint('launch', [...between]);
}

/** Opens a card, once for each session, about events that do not come from the host. */
function reportForeignEvents({ runtime }: HookContext, session: string, { ancestors }: HookOrigin, what: string): void {
  const id = `card-events-${session}`;
  if (runtime.store.card(id) !== undefined) return;
  const chain = formatProcessChain({ links: ancestors, isComplete: true });
  const card: Card = {
    ...{ id, kind: 'notice', task: `hook-${session}`, code: 'notice', counters: {} },
    evidence: [what, `the processes above the hook: ${chain}`],
    actions: ['dismiss'],
    state: 'open',
  };
  openCard(runtime, card, undefined, runtime.clock.nowMs());
}

/** Records the host of a session once, so that no command below the host acts as an operator. */
async function recordSessionHost(
  { store, agent }: HookContext,
  locked: LockedSession,
  { host, between }: HookOrigin,
  session: string,
): Promise<void> {
  const { hosts = [], launches = [] } = locked.state;
  const launch = hashLaunch(between);
  if (between.length > 0 && !launches.includes(launch))
    locked.state = { ...locked.state, launches: [...launches, launch].slice(-hookHostsMax) };
  if (host === undefined || hosts.some(({ pid, began }) => pid === host.pid && began === host.began)) return;
  await recordHost(store, host, { agent, session });
  const { pid, began } = host;
  locked.state = { ...locked.state, hosts: [...hosts, { pid, began }].slice(-hookHostsMax) };
}

/** Finds the source of the event and records the host; events of others are reported. */
export async function placeEvent(
  context: HookContext,
  locked: LockedSession,
  origin: HookOrigin,
  session: string,
): Promise<void> {
  const { task } = locked.state;
  const root = task === null ? undefined : await locked.loadTask(task);
  const hasOpenCalls = (root?.open.length ?? 0) > 0 || Object.keys(locked.state.delegations).length > 0;
  locked.source = findEventSource(origin, locked.state, hasOpenCalls);
  if (locked.source === 'tool')
    reportForeignEvents(
      context,
      session,
      origin,
      `hook events of the session ${session} came from a tool of the agent and were not counted`,
    );
  else await recordSessionHost(context, locked, origin, session);
  if (locked.source === 'other host')
    reportForeignEvents(
      context,
      session,
      origin,
      `the session ${session} is used by a second process; its successes are not counted`,
    );
}
