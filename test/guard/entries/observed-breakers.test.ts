/** Breakers of observed tools: one for each session, of which a process keeps a bounded number. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallObserver } from '../../../src/guard/entries/observed-call.ts';
import { runtimeOf, startTask, type TaskState } from '../../../src/guard/internal.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { bothStores } from '../../stores/both-stores.ts';

const { kinds, newPlace } = bothStores();
const stores = { 'in memory': async () => memoryStore(), 'in a file': kinds['in a file'] };

for (const [name, open] of Object.entries(stores)) {
  test(`many sessions leave a bounded number of breakers, and a failing tool keeps its count: ${name}`, async () => {
    const store = await open(newPlace());
    const gear = createSwitchgear({ store, log: 'silent', env: {} });
    const runtime = runtimeOf(gear);
    const observeCall = createCallObserver(runtime);
    let calls = 0;
    const start = (session: string) => startTask(runtime, { session, parent: null }, undefined);
    const call = (task: TaskState, ok: boolean) =>
      observeCall(`c${++calls}`, 'read', {}, task).settle({ ok, output: '' });
    const failing = start('first');
    for (let at = 0; at < 4; at++) assert.equal(call(failing, false), undefined);
    for (let at = 0; at < 2_500; at++) call(start(`s${at}`), true);
    assert.ok(runtime.breakers.size <= 1_002, `${runtime.breakers.size}`);
    await store.shared?.settled();
    assert.notEqual(call(failing, false), undefined, 'the fifth failure opens the breaker');
    gear.dispose();
    await store.shared?.settled();
    store.close?.();
  });
}
