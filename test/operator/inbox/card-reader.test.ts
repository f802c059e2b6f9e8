/** The reader of a server remembers cards, and shows every change that the store or the journal tells of. */

import assert from 'node:assert/strict';
import type { Card } from '../../../src/core/card.ts';
import { createCardReader } from '../../../src/operator/inbox/card-reader.ts';
import { bothStores, testOn } from '../../stores/both-stores.ts';

const { kinds, newPlace } = bothStores();

const notice: Card = {
  ...{ id: 'n', kind: 'notice', task: 't', code: 'notice', counters: {}, evidence: [], actions: ['dismiss'] },
  state: 'open',
};

for (const [name, open] of Object.entries(kinds)) {
  testOn(name)(`${name}: the remembered cards follow the changes of other processes`, async () => {
    const place = newPlace();
    const [store, other] = [await open(place), await open(place)];
    const [reader, remembering] = [createCardReader(store), createCardReader(store, 0)];
    const list = async (from: typeof reader) => (await from.read()).map(({ id, state }) => `${id} ${state}`).toSorted();
    assert.deepEqual([await list(reader), await list(remembering)], [[], []]);
    other.putCard(notice);
    other.putCard({ ...notice, id: 'm' });
    await other.shared.settled();
    for (const id of ['n', 'm']) remembering.invalidate(id);
    assert.deepEqual(await list(reader), ['m open', 'n open']);
    assert.deepEqual(await list(remembering), ['m open', 'n open']);
    other.putCard({ ...notice, state: 'answered', answer: 'dismiss', by: 'ann' });
    await other.shared.settled();
    remembering.invalidate('n');
    assert.deepEqual(await list(reader), ['m open', 'n answered']);
    assert.deepEqual(await list(remembering), ['m open', 'n answered']);
    remembering.close();
    reader.close();
    for (const each of [store, other]) each.close();
  });
}
