import assert from 'node:assert/strict';
import test from 'node:test';
import type { Entry } from '../../src/core/event.ts';
import { findLastSeq, readNewestEntries } from '../../src/operator/journal.ts';
import type { SharedStore } from '../../src/ports/store.ts';

/** A journal with the given numbers, that counts how often it is asked. */
function journal(seqs: readonly number[]) {
  const asked = { times: 0 };
  const entries = async (from: number, most: number) => {
    asked.times++;
    return seqs
      .filter((seq) => seq >= from)
      .slice(0, most)
      .map((seq) => ({ seq }) as Entry);
  };
  return { shared: { entries } as unknown as SharedStore, asked };
}

for (const seqs of [[], [1], [1, 2], [7], [1, 2, 3, 900, 901], Array.from({ length: 3_000 }, (_, at) => at + 5)]) {
  test(`the last of ${seqs.length} entries up to ${seqs.at(-1) ?? 0} is found in at most 30 reads`, async () => {
    const { shared, asked } = journal(seqs);
    assert.equal(await findLastSeq(shared), seqs.at(-1) ?? 0);
    assert.ok(asked.times <= 30, `${asked.times} questions`);
  });
}

test('the newest entries are returned in order, across several pages', async () => {
  const seqs = Array.from({ length: 3_000 }, (_, at) => at + 1);
  const found = await readNewestEntries(journal(seqs).shared, 2_500);
  assert.deepEqual(
    found.map(({ seq }) => seq),
    seqs.slice(-2_500),
  );
  assert.deepEqual(await readNewestEntries(journal([]).shared, 10), []);
});
