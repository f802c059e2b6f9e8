/** Finds the clients of a listener by their connections, and records each as a guarded agent. */

import { evictOldest } from '../core/bounded.ts';
import { systemClock } from '../platform/system-clock.ts';
import type { Store } from '../ports/store.ts';
import { type ClientProcess, findConnectedClient } from './client-process.ts';
import { type ConnectionEnds, type FoundSocket, findPeerOf, findPeerSocket, hasSocketOpen } from './peer-process.ts';
import { isRunning, type ProcessInfo, readProgramName } from './process-table.ts';
import { type ClientIdentity, ClientRecords } from './recorded-agents.ts';

/** Milliseconds that may be spent at once on looking for clients, and the part of all time that may be spent so. */
const burstMs = 500;
const timeShare = 0.05;
/** Clients that are known without looking for them. */
export const knownClientsMax = 64;
/** Connections that wait until others were looked for. */
const waitingMax = 64;

/** The name of an agent is that of its program, unless it is given. */
export type WatchedListener = Omit<ClientIdentity, 'agent'> & { readonly agent?: string | undefined };

export class ClientWatch {
  readonly #store: Store;
  readonly #listener: WatchedListener;
  /** Connections whose client is recorded, or is not of this machine. */
  readonly #identified = new WeakSet<object>();
  /** Recorded clients by process id. */
  readonly #known = new Map<number, Pick<ProcessInfo, 'pid' | 'began'>>();
  readonly #records: ClientRecords;
  #waiting = 0;
  #isLooking = false;
  #last: Promise<void> = Promise.resolve();
  /** Milliseconds that were spent lately. */
  #spentMs = 0;
  #countedMs = 0;

  constructor(store: Store, listener: WatchedListener) {
    this.#store = store;
    this.#listener = listener;
    this.#records = new ClientRecords(store);
  }

  /**
   * Records the client of a connection; undefined if there is nothing to wait for. While many connections come at once,
   * some of them are left for a later request.
   */
  note(connection: ConnectionEnds): Promise<void> | undefined {
    if (this.#identified.has(connection) || this.#store.shared === undefined) return undefined;
    if (this.#waiting >= waitingMax || !this.#mayLook()) return undefined;
    this.#waiting++;
    return this.#look(connection).finally(() => this.#waiting--);
  }

  #mayLook(): boolean {
    const nowMs = systemClock.nowMs();
    this.#spentMs = Math.max(0, this.#spentMs - (nowMs - this.#countedMs) * timeShare);
    this.#countedMs = nowMs;
    return this.#spentMs < burstMs;
  }

  async #look(connection: ConnectionEnds): Promise<void> {
    try {
      const socket = await this.#findSocket(connection);
      if (this.#isKnown(socket)) this.#identified.add(connection);
      else await this.#lookInTurn(connection, socket);
    } catch {
      // The store is away: a later request tries again.
    }
  }

  /** Finds the sockets of all connections that come at once by one look. */
  async #findSocket(connection: ConnectionEnds): Promise<FoundSocket> {
    if (this.#isLooking) return findPeerSocket(connection);
    this.#isLooking = true;
    const beganMs = systemClock.nowMs();
    try {
      return await findPeerSocket(connection);
    } finally {
      this.#isLooking = false;
      this.#spentMs += systemClock.nowMs() - beganMs;
    }
  }

  /** Looks through all processes, for one connection after the other. */
  #lookInTurn(connection: ConnectionEnds, socket: FoundSocket): Promise<void> {
    const look = async () => {
      // The connections before it may have used up the time.
      if (this.#identified.has(connection) || !this.#mayLook()) return;
      const beganMs = systemClock.nowMs();
      try {
        if (!this.#isKnown(socket)) await this.#identify(socket);
        this.#identified.add(connection);
      } finally {
        this.#spentMs += systemClock.nowMs() - beganMs;
      }
    };
    const looked = this.#last.then(look);
    this.#last = looked.catch(() => undefined);
    return looked;
  }

  async #identify(socket: FoundSocket): Promise<void> {
    const peer = await findPeerOf(socket);
    const others = peer.kind === 'found' ? peer.pids.filter((pid) => pid !== process.pid) : [];
    const client = findConnectedClient(others);
    if (client !== undefined) await this.#record(client);
  }

  #isKnown(socket: FoundSocket): boolean {
    for (const [pid, known] of this.#known) if (!isRunning(known)) this.#known.delete(pid);
    return socket.kind === 'socket' && hasSocketOpen(socket, [...this.#known.keys()]);
  }

  async #record(client: ClientProcess): Promise<void> {
    const { agent, ...listener } = this.#listener;
    const name = agent ?? readProgramName(client.processes.at(-1)!.pid) ?? 'an agent';
    await this.#records.keep(client, { ...listener, agent: name });
    for (const { pid, began } of client.processes) {
      evictOldest(this.#known, knownClientsMax);
      this.#known.set(pid, { pid, began });
    }
  }
}
