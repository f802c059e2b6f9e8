/**
 * Hints: a message to the other processes for every change. Of what nobody waits for they are told right after it, and
 * of what keeps changing once in a while: whoever made the change need not wait until all have been told.
 */

import { hintLagMs, storeBatchMax } from '../../core/limits.ts';
import { machineClock } from '../../platform/machine-clock.ts';
import type { Link } from './connection.ts';
import type { Memory } from './known-state.ts';

export interface Hints {
  /** This process wrote a cell, and nobody was told. */
  changed(key: string, version: number): void;
  /** A message came. */
  heard(message: string): void;
  /** Cells of which the others were not told yet. */
  readonly waiting: number;
}

export interface HintsOptions {
  readonly memory: Memory;
  readonly link: () => Link;
  readonly channel: string;
}

export function createHints({ memory, link, channel }: HintsOptions): Hints {
  const untold = new Map<string, number>();
  let telling = 0;
  /** They were told of something a moment ago. */
  let isResting = false;

  /** The beginning of every message of this line: of which store it is, and whose. */
  const head = () => `${memory.born}\n${memory.line}\n`;

  function tell(): void {
    const all = [...untold];
    untold.clear();
    for (const [key, version] of all) {
      const known = memory.cells.get(key);
      // Whoever wrote a later one tells of that; a line that is down is not for hints.
      if (known?.version !== version || !link().isUp) continue;
      const name = `c:${key}`;
      const message = `${head()}${version}\n${name.length}\n${name}${known.text ?? ''}`;
      telling++;
      link().command(['PUBLISH', channel, message]).then(told, told);
    }
  }

  function tellNow(): void {
    tell();
    if (isResting) return;
    isResting = true;
    machineClock.after(hintLagMs, rested, true);
  }

  function rested(): void {
    isResting = false;
    if (untold.size > 0) tellNow();
  }

  function told(): void {
    telling--;
  }

  return {
    changed(key, version) {
      untold.set(key, version);
      if (!isResting || untold.size >= storeBatchMax) tellNow();
    },
    heard(message) {
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
      return untold.size + telling;
    },
  };
}
