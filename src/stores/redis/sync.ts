/** Keeps the known state of a process in step with the store: a handshake on each connection, and a regular poll. */

import { randomBytes, randomUUID } from 'node:crypto';
import { machineClock } from '../../platform/machine-clock.ts';
import type { Views } from '../cells/cell-views.ts';
import type { RedisConnection, Reply, RunScript } from './connection.ts';
import type { RedisKeys } from './keys.ts';
import type { KnownState } from './known-state.ts';
import { pollStore, restoreStore, type StoreReader } from './restore.ts';
import { helloScript } from './scripts.ts';
import type { ServerClock } from './server-clock.ts';
import type { RedisWriter } from './writer.ts';

/** The options of `RedisSync`. */
export interface RedisSyncOptions {
  /** The name of this process in the store. */
  readonly process: string;
  readonly names: RedisKeys;
  readonly memory: KnownState;
  readonly views: Views;
  readonly time: ServerClock;
  readonly connection: () => RedisConnection;
  readonly writer: () => RedisWriter;
  /** Called after a loss of data, with the new identity of the store. */
  onLoss(born: string): void;
}

/** The handshakes and polls of one process. */
export class RedisSync {
  readonly #options: RedisSyncOptions;
  /** The number of connections that finished a handshake. */
  #connections = 0;
  /** The version up to which all changed cells are known. */
  #since = 0;
  #isPolling = false;

  constructor(options: RedisSyncOptions) {
    this.#options = options;
    options.memory.line = options.names.process(`${options.process}-0`);
  }

  /** Reads time and versions from the head of a reply; returns the rest. */
  readHead(reply: Reply, askedMs: number): readonly string[] {
    const { memory, time } = this.#options;
    const { 1: secs, 2: micros, 5: version, 6: seq } = reply;
    if (secs !== '') time.observe(askedMs, machineClock.nowMs(), Number(secs) * 1000 + Number(micros) / 1000);
    memory.version = Math.max(memory.version, Number(version));
    memory.seq = Math.max(memory.seq, Number(seq));
    return reply.slice(8);
  }

  /** Prepares a new connection: asks which transactions were executed, reads changed cells, and restores lost ones. */
  async handshake(run: RunScript): Promise<void> {
    const { names, memory, views, process } = this.#options;
    const writer = this.#options.writer();
    const { born, version, seq, secret, line: before } = memory;
    const wanted = [randomUUID(), secret === '' ? randomBytes(32).toString('base64url') : secret];
    const askedMs = machineClock.nowMs();
    const own = names.process(`${process}-${this.#connections + 1}`);
    const keys = [names.store, before, own, `${before}:done`];
    const reply = await run(helloScript, keys, [...wanted, born, String(version), String(seq)]);
    this.#connections++; // After the reply, so that a lost reply is requested again.
    memory.line = own;
    const done = this.readHead(reply, askedMs);
    writer.reconnected(new Set(done.map(Number)));
    const forgot = born !== '' && reply[3] !== born;
    memory.born = reply[3]!;
    memory.secret = reply[7]!;
    const reader = this.makeReader(run);
    await pollStore(forgot ? { ...reader, since: 0 } : reader);
    this.#since = memory.version;
    writer.viewsCaughtUp();
    if (!forgot) return;
    await restoreStore({ ...reader, views, writer });
    this.#options.onLoss(memory.born);
  }

  /** Reads changed cells and delivers queued transactions; does nothing while the connection is down. */
  async poll(): Promise<void> {
    const { memory } = this.#options;
    const connection = this.#options.connection();
    if (this.#isPolling || !connection.isUp) return;
    this.#isPolling = true;
    try {
      const { born, version } = memory;
      const head = await pollStore(this.makeReader(connection.run));
      if (head.born !== born || head.version < Math.min(version, this.#since)) connection.renew('the store lost data');
      else this.#since = Math.max(this.#since, head.version);
      // Transactions are queued also while the connection is up, after they lost every race.
      await this.#options.writer().deliver();
      await this.#options.writer().retryOverflow();
    } catch {
      // The connection is down and reports its own failure.
    } finally {
      this.#isPolling = false;
    }
  }

  /** Returns the parts that reads of changed cells use. */
  makeReader(run: RunScript): StoreReader {
    const { names, memory } = this.#options;
    return { run, names, memory, since: this.#since, readHead: (reply, askedMs) => this.readHead(reply, askedMs) };
  }
}
