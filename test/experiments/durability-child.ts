/** Writes and says so, until it is killed: trips, approvals, spends, records, each acknowledged once it is durable. */

import { writeSync } from 'node:fs';
import type { Card } from '../../src/core/card.ts';
import type { Transaction, TransactionResult } from '../../src/ports/store.ts';
import { openStore } from './breaker-transactions.ts';

const { path, slot, life, door } = JSON.parse(process.argv[2]!) as {
  readonly path: string;
  readonly slot: number;
  readonly life: number;
  readonly door: 'now' | 'soon';
};
const store = await openStore({ path });
const trips = store.cell(`trips/${slot}`, () => ({ generation: 0 }));
const note = (name: string) => ({
  body: { type: 'task-missing', name } as const,
  place: {},
  atMs: store.clock.nowMs(),
});
const commitByDoor = async (transaction: Transaction): Promise<TransactionResult> =>
  door === 'now' ? store.shared.commitNow(transaction) : store.shared.commit(transaction);
/** Straight into the pipe: what was said stays said. */
function say(name: string): void {
  for (const text = `${name}\n`; ; ) {
    try {
      writeSync(1, text);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.('ready');
for (let turn = 0; ; turn++) {
  const id = `${slot}.${life}.${turn}`;
  let name = '';
  let result: TransactionResult;
  switch (turn % 4) {
    case 0:
      name = `trip ${slot} ${id}`;
      result = await commitByDoor({
        changes: [
          {
            cell: trips,
            update: ({ generation }: { generation: number }) => ({
              state: { generation: generation + 1 },
              entries: [note(name)],
            }),
          },
        ],
      });
      break;
    case 1: {
      name = `used ${id}`;
      const cell = store.cell<Card | null>(`card/${id}`, () => null);
      const used = { id, kind: 'ask', task: 't', code: 'notice', counters: {}, evidence: [], actions: [] } as const;
      const update = () => ({ state: { ...used, state: 'used' } as Card, entries: [note(name)] });
      result = await commitByDoor({ changes: [{ cell, update }] });
      break;
    }
    case 2:
      name = `spend ${1 + (turn % 5)} ${id}`;
      result = await commitByDoor({ adds: [{ key: 'spend', amount: 1 + (turn % 5) }], entries: [note(name)] });
      break;
    default:
      name = `record ${id}`;
      result = await commitByDoor({ entries: [note(name)] });
  }
  if (result.status === 'committed') say(name);
  if (turn % 16 === 15) await new Promise((resolve) => setImmediate(resolve));
}
