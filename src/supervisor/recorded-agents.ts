/**
 * Processes of agents that a store records, so that nothing below them acts as an operator: the hosts of hooks, the
 * clients of proxies and gateways, and servers whose clients are not above them.
 */

import { evictOldest } from '../core/bounded.ts';
import { cellKey } from '../core/cell-key.ts';
import { agentRunsMax, hookKeepMs, hostRecordMs } from '../core/limits.ts';
import type { Change, Store } from '../ports/store.ts';
import type { ClientProcess } from './client-process.ts';
import { isRunning, type ProcessInfo, readBootId } from './process-table.ts';
import { describeProcess, isAlive, isHere, type RecordedProcess } from './run-record.ts';

/** The recorded host of hooks. */
export interface RecordedHost extends HostIdentity {
  readonly process: RecordedProcess;
  /** The time of its last recorded event, in the time of the store. */
  readonly seenMs?: number;
}

interface HostIdentity {
  readonly agent: string;
  readonly session: string;
  /** The key of the session's state. */
  readonly conversation?: string;
  /** How the host launched its hooks, and whether it has made a call since. */
  readonly launches?: readonly number[];
  readonly isLearned?: boolean;
}

/** The recorded client of a proxy or gateway, or the server of a proxy. */
export interface RecordedClient extends ClientIdentity {
  readonly process: RecordedProcess;
  /** The main process of an application that the client is a part of. */
  readonly application?: RecordedProcess | undefined;
  /** The time of the record, in the time of the store. */
  readonly seenMs: number;
}

export interface ClientIdentity {
  readonly by: 'mcp' | 'gateway' | 'server';
  /** The name of the agent. */
  readonly agent: string;
  /** The name of the proxy. */
  readonly name: string;
}

/** Recorded agents of one kind. */
export interface Records<Recorded> {
  readonly records: readonly Recorded[];
  /** Whether the store has no more than are read. */
  readonly isComplete: boolean;
}

const hostPrefix = 'agent-host/';
const clientPrefix = 'agent-client/';

/** Records the process that runs hooks as the host of a session; kept while the store knows the session. */
export async function recordHost(
  store: Store,
  host: Pick<ProcessInfo, 'pid' | 'began'>,
  identity: HostIdentity,
): Promise<void> {
  const state = { ...identity, process: describeProcess(host), seenMs: store.clock.nowMs() };
  await store.shared?.commit({ changes: [makeChange(store, hostPrefix, host, state)] });
}

/** Records clients, and again while they run: a record of a process that is out of sight counts for a limited time. */
export class ClientRecords {
  readonly #store: Store;
  readonly #kept = new Map<ClientProcess, ClientIdentity>();
  #isScheduled = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Records the processes of a client, and drops the records of clients that have ended. */
  async keep(client: ClientProcess, identity: ClientIdentity): Promise<void> {
    evictOldest(this.#kept, agentRunsMax);
    this.#kept.set(client, identity);
    this.#renewLater();
    await writeClient(this.#store, client, identity);
    await dropEnded(this.#store);
  }

  #renewLater(): void {
    if (this.#isScheduled || this.#kept.size === 0) return;
    this.#isScheduled = true;
    this.#store.clock.after(hostRecordMs, () => {
      this.#isScheduled = false;
      for (const [client, identity] of this.#kept) {
        if (client.processes.some(isRunning)) writeClient(this.#store, client, identity).catch(() => undefined);
        else this.#kept.delete(client);
      }
      this.#renewLater();
    });
  }
}

async function writeClient(store: Store, client: ClientProcess, identity: ClientIdentity): Promise<void> {
  const { shared, clock } = store;
  const application = client.application && describeProcess(client.application);
  const changes = client.processes.map((each) =>
    makeChange(store, clientPrefix, each, {
      ...identity,
      ...{ process: describeProcess(each), application, seenMs: clock.nowMs() },
    }),
  );
  await shared?.commit({ changes, queueIfUnavailable: true });
}

async function dropEnded(store: Store): Promise<void> {
  for (const { key, state } of (await store.shared?.read(clientPrefix, agentRunsMax)) ?? []) {
    const { process: recorded } = (state ?? {}) as Partial<RecordedClient>;
    if (recorded !== undefined && isHere(recorded) && !isAlive(recorded)) store.drop(key);
  }
}

export function listRecordedHosts(store: Store): Promise<Records<RecordedHost>> {
  return listRecords(store, hostPrefix);
}

export function listRecordedClients(store: Store): Promise<Records<RecordedClient>> {
  return listRecords(store, clientPrefix);
}

/** Reads those of some processes that are recorded as hosts. */
export function readRecordedHosts(store: Store, processes: readonly ProcessInfo[]): Promise<readonly RecordedHost[]> {
  return readRecords(store, hostPrefix, processes);
}

/** Reads those of some processes that are recorded as clients. */
export function readRecordedClients(
  store: Store,
  processes: readonly ProcessInfo[],
): Promise<readonly RecordedClient[]> {
  return readRecords(store, clientPrefix, processes);
}

function makeChange(store: Store, prefix: string, process: Pick<ProcessInfo, 'pid' | 'began'>, state: object): Change {
  const cell = store.cell<object | null>(recordKey(prefix, process), () => null, { keepMs: hookKeepMs });
  const change: Change<object | null> = { cell, update: () => ({ state }) };
  return change as Change;
}

function recordKey(prefix: string, { began, pid }: Pick<ProcessInfo, 'pid' | 'began'>): string {
  return prefix + cellKey(readBootId(), began, String(pid));
}

async function listRecords<Recorded>({ shared }: Store, prefix: string): Promise<Records<Recorded>> {
  const cells = (await shared?.read(prefix, agentRunsMax)) ?? [];
  const records = cells.flatMap(({ state }) => (state === null ? [] : [state as Recorded]));
  return { records, isComplete: cells.length < agentRunsMax };
}

async function readRecords<Recorded>(
  { shared }: Store,
  prefix: string,
  processes: readonly ProcessInfo[],
): Promise<readonly Recorded[]> {
  const reads = processes.map(async (each) => {
    const key = recordKey(prefix, each);
    const [row] = (await shared?.read(key, 1)) ?? [];
    return row?.key === key ? (row.state as Recorded | null) : null;
  });
  return (await Promise.all(reads)).filter((each) => each !== null);
}
