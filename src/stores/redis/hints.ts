/**
 * Sends and receives hints, the messages about changed cells. Hints of the swap script are published after it, at most
 * once in 5 ms, so that the caller does not wait for the delivery to all processes.
 */

import { hintLagMs, storeBatchMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { RedisConnection } from './connection.ts';
import type { KnownState } from './known-state.ts';

/** The hints of one process. */
export interface Hints {
  /** Publishes a change that the script did not publish. */
  changed(key: string, version: number): void;
  /** Handles a message of the channel. */
  onMessage(message: string): void;
  /** The number of changes that are not published yet. */
  readonly waiting: number;
}

/** The options of `createHints`. */
export interface HintsOptions {
  readonly memory: KnownState;
  readonly connection: () => RedisConnection;
  readonly channel: string;
}

/** Creates the hints of one process. */
export function createHints({ memory, connection, channel }: HintsOptions): Hints {
  const unpublished = new Map<string, number>();
  let publishing = 0;
  /** Whether hints were published within the last 5 ms. */
  let isResting = false;

  /** Returns the start of every message of this connection: the identity of the store and the connection. */
  const head = () => `${memory.born}\n${memory.line}\n`;

  function publishHints(): void {
    const all = [...unpublished];
    unpublished.clear();
    for (const [key, version] of all) {
      const cell = memory.cells.get(key);
      // A later version has its own hint, and hints are not sent while the connection is down.
      if (cell?.version !== version || !connection().isUp) continue;
      const name = `c:${key}`;
      const message = `${head()}${version}\n${name.length}\n${name}${cell.text ?? ''}`;
      publishing++;
      connection().command(['PUBLISH', channel, message]).then(onPublished, onPublished);
    }
  }

  function publishNow(): void {
    publishHints();
    if (isResting) return;
    isResting = true;
    machineClock.after(hintLagMs, onRested, true);
  }

  function onRested(): void {
    isResting = false;
    if (unpublished.size > 0) publishNow();
  }

  function onPublished(): void {
    publishing--;
  }

  return {
    changed(key, version) {
      unpublished.set(key, version);
      if (!isResting || unpublished.size >= storeBatchMax) publishNow();
    },
    onMessage(message) {
      // This process gets its own changes from the replies.
      if (message.startsWith(head())) return;
      const [born, , version, length, ...rest] = message.split('\n');
      const body = rest.join('\n');
      const name = body.slice(0, Number(length));
      if (born !== memory.born || !name.startsWith('c:')) return;
      const text = body.slice(Number(length));
      memory.setCell(name.slice(2), Number(version), text === '' ? undefined : text);
    },
    get waiting() {
      return unpublished.size + publishing;
    },
  };
}
