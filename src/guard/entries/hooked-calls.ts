/**
 * Calls of MCP tools that hooks have counted and that have not ended. A proxy that passes such a call on takes it: then
 * the proxy decides by breaker and rules and settles the breaker, and everything else stays with the hook.
 */

import type { Cell, CellUpdate, Store, Transaction } from '../../ports/store.ts';
import { digestWithSecret } from '../approval/approval-digest.ts';
import type { BreakerEntry } from '../breakers/breaker-registry.ts';
import { fingerprint } from '../runtime/fingerprint.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** A call that a hook has counted. */
export interface HookedCall {
  /** The host's id of the call. */
  readonly id: string;
  readonly tool: string;
  /** The name that a proxy has for the tool, if the host has another one. */
  readonly proxyName?: string | undefined;
  /** The fingerprint of the tool and its arguments. */
  readonly fingerprint: number;
  /** Whether the terminal has yet to approve the call: an equal one without the id may be made without approval. */
  readonly isAsked?: boolean | undefined;
  readonly atMs: number;
  /** The process that runs the hooks, if known. */
  readonly host?: HookedHost | undefined;
  /** The probe of the tool's breaker that the hook took. */
  readonly probe?: { readonly id: string | number; readonly generation: number } | undefined;
  /** The approval of the call: the person, the rules, and the digest of the tool and its input. */
  readonly approved?: HookedApproval | undefined;
  /** How a proxy found it, and what the proxy calls the tool; absent: none did. */
  readonly takenBy?: 'id' | 'input' | undefined;
  readonly takenAs?: string | undefined;
}

interface HookedApproval {
  readonly by: string;
  readonly rules: readonly string[];
  readonly digest: string | undefined;
}

export interface HookedHost {
  readonly pid: number;
  readonly began: string;
}

interface HookedCalls {
  readonly calls: readonly HookedCall[];
}

const key = 'hooked-calls';
/** The most calls, how long one without an end is kept, and how long it is found by its input. */
const hookedCallsMax = 256;
const hookedCallsKeepMs = 86_400_000;
const hookedInputMs = 600_000;

function openCell(store: Store): Cell<HookedCalls> {
  return store.cell<HookedCalls>(key, () => ({ calls: [] }), { keepMs: hookedCallsKeepMs });
}

/** Publishes a call before its host makes it. */
export async function publishHookedCall({ store }: Runtime, call: HookedCall): Promise<void> {
  const update = ({ calls }: HookedCalls) => {
    const others = calls.filter(({ id, atMs }) => id !== call.id && call.atMs - atMs < hookedCallsKeepMs);
    return { state: { calls: [...others, call].slice(-hookedCallsMax) } };
  };
  await store.shared?.commit(changeOf(openCell(store), update));
}

/** Removes calls that have ended; returns the ids of those whose breaker a proxy settles. */
export async function endHookedCalls({ store }: Runtime, ended: readonly string[]): Promise<ReadonlySet<string>> {
  let taken = new Set<string>();
  const update = ({ calls }: HookedCalls): CellUpdate<HookedCalls> => {
    taken = new Set();
    let left = calls;
    for (const each of ended) {
      const own = left.find(({ id }) => id === each);
      if (own === undefined) continue;
      // Equal calls without an id in the proxy are the same to it: it may have taken the other one for this one.
      const swapped =
        own.takenBy === undefined ? left.find((other) => other.takenBy === 'input' && isEqual(other, own)) : undefined;
      // A proxy that has another name for the server has another breaker, too.
      if ((swapped ?? own).takenAs === (own.proxyName ?? own.tool)) taken.add(each);
      left = left.flatMap((other) =>
        other === own ? [] : other === swapped ? [{ ...other, takenBy: undefined, takenAs: undefined }] : [other],
      );
    }
    return left === calls ? 'keep' : { state: { calls: left } };
  };
  await store.shared?.commit(changeOf(openCell(store), update));
  return taken;
}

function isEqual(one: HookedCall, other: HookedCall): boolean {
  return one.tool === other.tool && one.fingerprint === other.fingerprint && one.host?.pid === other.host?.pid;
}

/** A call of a proxy. */
export interface PassedCall {
  /** The client's id of the call, if it sends one. */
  readonly id?: string | undefined;
  readonly tool: string;
  readonly args: readonly unknown[];
}

/** Takes the hooked call of a passed one; undefined: no hook has counted it. A promise while the store is asked. */
export type TakeHookedCall = (call: PassedCall) => HookedCall | undefined | Promise<HookedCall | undefined>;

/**
 * Creates the function of a proxy. The view of the store must be fresh when it is called.
 * @param listHosts Returns the processes above the proxy, of which one is the host; read once, when a hook is seen.
 */
export function createHookedCallTaker(
  { store, clock }: Runtime,
  listHosts: () => readonly HookedHost[],
): TakeHookedCall | undefined {
  const { shared } = store;
  if (shared === undefined) return undefined;
  const cell = openCell(store);
  let hosts: readonly HookedHost[] | undefined;
  const isOwn = (host: HookedHost | undefined): boolean => {
    if (host === undefined) return true;
    hosts ??= listHosts();
    return hosts.some(({ pid, began }) => pid === host.pid && began === host.began);
  };

  return ({ id, tool, args }) => {
    if (cell.state.calls.length === 0) return undefined;
    const sinceMs = clock.nowMs() - hookedInputMs;
    const isCandidate = (call: HookedCall) =>
      id === undefined
        ? (call.proxyName ?? call.tool) === tool && call.isAsked !== true && call.atMs > sinceMs && isOwn(call.host)
        : call.id === id && isSameTool(call.tool, tool);
    // An id may be sent with another call, so the arguments must be those that the hook has judged.
    const isIt = (call: HookedCall) =>
      call.takenBy === undefined &&
      isCandidate(call) &&
      call.fingerprint === fingerprint(call.tool, args) &&
      isApprovedInput(store, call, args);
    if (!cell.state.calls.some(isIt)) return undefined;
    let found: HookedCall | undefined;
    const update = ({ calls }: HookedCalls): CellUpdate<HookedCalls> => {
      found = calls.find(isIt);
      if (found === undefined) return 'keep';
      const takenBy = id === undefined ? 'input' : 'id';
      return { state: { calls: calls.map((call) => (call === found ? { ...call, takenBy, takenAs: tool } : call)) } };
    };
    const transaction = changeOf(cell, update);
    const result = shared.commitNow(transaction);
    if (result.status === 'committed') return found;
    return shared.commit(transaction).then(({ status }) => (status === 'committed' ? found : undefined));
  };
}

/** The digest of an approved call: a fingerprint leaves parts of the arguments out, and an equal one can be made up. */
export function digestHookedCall(store: Store, tool: string, args: readonly unknown[]): string | undefined {
  return digestWithSecret(store, ['hooked-call', tool, args]);
}

function isApprovedInput(store: Store, { approved, tool }: HookedCall, args: readonly unknown[]): boolean {
  if (approved === undefined) return true;
  return approved.digest !== undefined && approved.digest === digestHookedCall(store, tool, args);
}

/** Whether two names are of the same tool; the proxy may have another name for its server. */
function isSameTool(one: string, other: string): boolean {
  return one === other || plainName(one) === plainName(other);
}

/** The name of a tool without its server, in the characters that hosts keep. */
function plainName(tool: string): string {
  return tool.replace(/^mcp__.*?__(?=.)/, '').replaceAll(/[^\w-]/g, '_');
}

function changeOf(cell: Cell<HookedCalls>, update: (state: HookedCalls) => CellUpdate<HookedCalls>): Transaction {
  return { changes: [{ cell, update: update as never }] };
}

/** Returns the probe of a hooked call to its breaker, for the proxy to take. Returning it twice changes nothing. */
export function returnHookedProbe(
  { clock }: Runtime,
  { control }: BreakerEntry,
  { id, generation }: NonNullable<HookedCall['probe']>,
): void {
  const remove = (state: { generation: number; probes: readonly { readonly id: string | number }[] }) => {
    if (state.generation === generation) state.probes = state.probes.filter((probe) => probe.id !== id);
  };
  control.change?.(remove as never, clock.nowMs());
}
