import assert from 'node:assert/strict';
import test from 'node:test';
import {
  activeOrders,
  noOrders,
  type Orders,
  subscribeToOrdersCell,
  withOrder,
} from '../../src/coordination/operator-orders.ts';
import { breaker } from '../../src/core/controls/breaker/control.ts';
import { defaultBreaker } from '../../src/core/controls/breaker/defaults.ts';
import { handTrip, resetBreaker } from '../../src/core/controls/breaker/phases.ts';
import { initialBreaker } from '../../src/core/controls/breaker/state.ts';
import { orderKeepMs } from '../../src/core/limits.ts';

const taskAt = (id: string, startedAtMs: number) => ({
  id,
  parent: undefined,
  cells: { deadline: { state: { startedAtMs } } },
});

/** A gear under orders, and the cell through which they come. */
function gear(...tasks: readonly ReturnType<typeof taskAt>[]) {
  const cell = { key: 'orders', version: 0, state: noOrders };
  const halted: string[] = [];
  const orderTarget = {
    tasks: new Map(tasks.map((task) => [task.id, task])),
    halt: (task: { readonly id: string }, reason: string) => void halted.push(`${task.id}: ${reason}`),
    pause() {},
    resume() {},
  };
  const order = (state: Partial<Orders>) => {
    cell.state = { ...cell.state, ...state };
    cell.version++;
  };
  return { order, halted, tasks: orderTarget.tasks, applyOrders: subscribeToOrdersCell(cell, orderTarget) };
}

test('an order to halt all tasks ends the running tasks, and not a later one', () => {
  const { order, halted, tasks, applyOrders } = gear(taskAt('a', 1), taskAt('b', 9));
  order({ halts: [{ target: null, atMs: 5, reason: 'enough' }] });
  assert.equal(applyOrders(10), undefined);
  assert.deepEqual(halted, ['a: enough']);
  tasks.set('c', taskAt('c', 12));
  applyOrders(13);
  assert.deepEqual(halted, ['a: enough']);
});

test('an order to halt one task leaves other tasks, and a later task with the same id', () => {
  const { order, halted, tasks, applyOrders } = gear(taskAt('a', 1), taskAt('b', 1));
  order({ halts: [{ target: 'b', atMs: 5, reason: 'enough' }] });
  applyOrders(6);
  assert.deepEqual(halted, ['b: enough']);
  tasks.set('b', taskAt('b', 7));
  order({});
  applyOrders(8);
  assert.deepEqual(halted, ['b: enough']);
});

/** A breaker that this gear shares with others. */
function sharedBreaker(name: string) {
  const cell = { key: `breaker/${name}`, version: 0, state: initialBreaker(defaultBreaker) };
  const control = {
    ...breaker(defaultBreaker),
    change: (step: (state: typeof cell.state) => void) => step(cell.state),
  };
  return { name, cell, settings: defaultBreaker, control };
}

test('a breaker created after a trip order opens at its next call, once, until the order ends', () => {
  const { order, applyOrders } = gear();
  const [mine, other] = [sharedBreaker('search'), sharedBreaker('read')];
  order({ trips: [{ target: 'search', atMs: 1_000, reason: '', untilMs: 6_000 }] });
  for (const one of [mine, other, mine]) assert.equal(applyOrders(2_000, { task: undefined, breaker: one }), undefined);
  const { phase, openUntilMs, cause, trips } = mine.cell.state;
  assert.deepEqual(
    { phase, openUntilMs, cause, trips },
    { phase: 'open', openUntilMs: 6_000, cause: handTrip, trips: 1 },
  );
  assert.equal(other.cell.state.phase, 'closed');
  resetBreaker(mine.cell.state);
  applyOrders(6_000, { task: undefined, breaker: mine });
  assert.equal(mine.cell.state.phase, 'closed'); // Its time is over.
});

test('the later of two orders for a target wins, and an order without an end lasts a day', () => {
  const first = { target: 'a', atMs: 1, reason: 'one' };
  const list = withOrder(withOrder([first], { target: null, atMs: 2, reason: 'all' }), { ...first, atMs: 3 });
  assert.deepEqual(
    list.map(({ target, atMs }) => [target, atMs]),
    [
      [null, 2],
      ['a', 3],
    ],
  );
  assert.equal(activeOrders(list, orderKeepMs + 2).length, 1);
  assert.equal(activeOrders([{ ...first, untilMs: 50 }], 50).length, 0);
});
