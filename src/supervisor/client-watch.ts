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

/** How often the processes of a connection are looked at: they may have handed it on and ended. */
const lookAgainMs = 1_000;

type KnownProcess = Pick<ProcessInfo, 'pid' | 'began'>;

/** A connection whose processes are recorded; none if they are not of this machine. */
interface IdentifiedConnection {
  readonly processes: readonly KnownProcess[];
  lookedMs: number;
}

/** The name of an agent is that of its program, unless it is given. */
export type WatchedListener = Omit<ClientIdentity, 'agent'> & { readonly agent?: string | undefined };

export class ClientWatch {
  readonly #store: Store;
  readonly #listener: WatchedListener;
  readonly #identified = new WeakMap<object, IdentifiedConnection>();
  /** Recorded clients by process id. */
  readonly #known = new Map<number, KnownProcess>();
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
    if (this.#store.shared === undefined || this.#isIdentified(connection)) return undefined;
    if (this.#waiting >= waitingMax || !this.#mayLook()) return undefined;
    this.#waiting++;
    return this.#look(connection).finally(() => this.#waiting--);
  }

  /** Whether the processes of a connection are recorded and run: a process that inherits it is looked for anew. */
  #isIdentified(connection: object): boolean {
    const identified = this.#identified.get(connection);
    if (identified === undefined) return false;
    const nowMs = systemClock.nowMs();
    if (identified.processes.length === 0 || nowMs - identified.lookedMs < lookAgainMs) return true;
    identified.lookedMs = nowMs;
    if (identified.processes.some(isRunning)) return true;
    this.#identified.delete(connection);
    return false;
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
      if (!this.#identifyKnown(connection, socket)) await this.#lookInTurn(connection, socket);
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
        if (!this.#identifyKnown(connection, socket)) await this.#identify(connection, socket);
      } finally {
        this.#spentMs += systemClock.nowMs() - beganMs;
      }
    };
    const looked = this.#last.then(look);
    this.#last = looked.catch(() => undefined);
    return looked;
  }

  async #identify(connection: object, socket: FoundSocket): Promise<void> {
    const peer = await findPeerOf(socket);
    const others = peer.kind === 'found' ? peer.pids.filter((pid) => pid !== process.pid) : [];
    const client = findConnectedClient(others);
    // The processes have ended, and may have handed the connection on.
    if (client === undefined && others.length > 0) return;
    if (client !== undefined) await this.#record(client);
    const processes = others.flatMap((pid) => client?.processes.find((each) => each.pid === pid) ?? []);
    this.#identified.set(connection, { processes, lookedMs: systemClock.nowMs() });
  }

  /** Identifies a connection if a recorded client has it open. */
  #identifyKnown(connection: object, socket: FoundSocket): boolean {
    for (const [pid, known] of this.#known) if (!isRunning(known)) this.#known.delete(pid);
    if (socket.kind !== 'socket') return false;
    const known = [...this.#known.values()].find(({ pid }) => hasSocketOpen(socket, pid));
    if (known === undefined) return false;
    this.#identified.set(connection, { processes: [known], lookedMs: systemClock.nowMs() });
    return true;
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
