/**
 * Hints: a message to the other processes for every change. Of what nobody waits for they are told right after it, and
 * of what keeps changing once in a while: whoever made the change need not wait until all have been told.
 */

import { hintLagMs, storeBatchMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { RedisConnection } from './connection.ts';
import type { KnownState } from './known-state.ts';

export interface Hints {
  /** This process wrote a cell, and nobody was told. */
  changed(key: string, version: number): void;
  /** A message came. */
  onMessage(message: string): void;
  /** Cells of which the others were not told yet. */
  readonly waiting: number;
}

export interface HintsOptions {
  readonly memory: KnownState;
  readonly connection: () => RedisConnection;
  readonly channel: string;
}

export function createHints({ memory, connection, channel }: HintsOptions): Hints {
  const unpublished = new Map<string, number>();
  let publishing = 0;
  /** They were told of something a moment ago. */
  let isResting = false;

  /** The beginning of every message of this line: of which store it is, and whose. */
  const head = () => `${memory.born}\n${memory.line}\n`;

  function publishHints(): void {
    const all = [...unpublished];
    unpublished.clear();
    for (const [key, version] of all) {
      const cell = memory.cells.get(key);
      // Whoever wrote a later one tells of that; a line that is down is not for hints.
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
      // Of its own deals this process hears by their answers, which say which of them it was.
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
