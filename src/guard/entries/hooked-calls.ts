/**
 * Calls of MCP tools that hooks have counted and that have not ended. A proxy that passes such a call on takes it: then
 * the proxy decides by breaker and rules and settles the breaker, and everything else stays with the hook.
 */

import type { Cell, CellUpdate, Store, Transaction } from '../../ports/store.ts';
import type { BreakerEntry } from '../breakers/breaker-registry.ts';
import { fingerprint } from '../runtime/fingerprint.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** A call that a hook has counted. */
export interface HookedCall {
  /** The host's id of the call. */
  readonly id: string;
  readonly tool: string;
  /** The fingerprint of the tool and its arguments; 0: only the id tells. */
  readonly fingerprint: number;
  readonly atMs: number;
  /** The process that runs the hooks, if known. */
  readonly host?: HookedHost | undefined;
  /** The probe of the tool's breaker that the hook took. */
  readonly probe?: { readonly id: string | number; readonly generation: number } | undefined;
  /** Who approved the call, and for which rules. */
  readonly approved?: { readonly by: string; readonly rules: readonly string[] } | undefined;
  /** How a proxy found it, and what the proxy calls the tool; absent: none did. */
  readonly takenBy?: 'id' | 'input' | undefined;
  readonly takenAs?: string | undefined;
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
      if ((swapped ?? own).takenAs === own.tool) taken.add(each);
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
    const input = id === undefined ? fingerprint(tool, args) : 0;
    const sinceMs = clock.nowMs() - hookedInputMs;
    const isIt = (call: HookedCall) => {
      if (call.takenBy !== undefined) return false;
      if (id !== undefined) return call.id === id;
      return call.tool === tool && call.fingerprint === input && call.atMs > sinceMs && isOwn(call.host);
    };
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
