/** The methods of a gear, and the types that `onRefusal` gives to guarded functions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createSwitchgear,
  isRefused,
  type Refused,
  RefusedError,
  refusalOf,
  type Switchgear,
  type SwitchgearOptions,
} from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

const quiet = { log: 'silent', env: {} } as const;

/** Fails to compile unless both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isSame = <T extends true>(): T => true as T;

test('the type of a guarded function includes refusals, except with onRefusal "throw"', async () => {
  const read = async <T>(value: T): Promise<T> => value;
  const add = (a: number, b: number): number => a + b;

  const returning = createSwitchgear(quiet);
  const added = returning.guard('add', add)(1, 2);
  isSame<Same<typeof added, number | Refused>>();
  // @ts-expect-error: a result that may be refused is no number.
  const sum: number = added;
  assert.equal(sum, 3);

  const throwing = createSwitchgear({ ...quiet, onRefusal: 'throw' });
  const guarded = throwing.guard('read', read);
  isSame<Same<typeof guarded, typeof read>>();
  const text: string = await guarded('a');
  assert.equal(text, 'a');
  const tools = throwing.guardAll({ add });
  isSame<Same<typeof tools.add, typeof add>>();
  const total: number = throwing.run('add', add, { args: [1, 2] });
  assert.equal(total, 3);
  const report = await throwing.delegate('worker', () => 'done');
  isSame<Same<typeof report, string>>();
  // @ts-expect-error: a refused call throws, so its result cannot be a refusal.
  const refused: Refused = tools.add(1, 2);
  assert.equal(isRefused(refused), false);
});

test('the type of a gear that throws refusals is assignable to the type of any gear', () => {
  const name = (gear: Switchgear) => gear.agent;
  assert.equal(name(createSwitchgear({ ...quiet, agent: 'a', onRefusal: 'throw' })), 'a');
});

test('the type of a call includes refusals if onRefusal is not known at compile time', () => {
  const options: SwitchgearOptions = { ...quiet, onRefusal: 'throw' };
  const result = createSwitchgear(options).guard('tool', () => 1)();
  isSame<Same<typeof result, number | Refused>>();
  assert.equal(result, 1);
});

test('a refused call of a gear that throws throws a RefusedError', async () => {
  const gear = createSwitchgear({ ...quiet, onRefusal: 'throw', policy: { task: { max_tool_calls: 1 } } });
  const tool = gear.guard('tool', (n: number) => n);
  const result = await gear.task(() => {
    tool(1);
    assert.throws(() => tool(2), RefusedError);
  });
  assert.equal(result.status, 'halted');
});

test('task takes a function alone, or options and a function', async () => {
  const gear = createSwitchgear(quiet);
  assert.deepEqual(await gear.task(() => 1), { status: 'done', value: 1 });
  assert.deepEqual(await gear.task({ id: 'x' }, ({ id }) => id), { status: 'done', value: 'x' });
  await assert.rejects(gear.task({} as never), /the task function must be a function, got undefined/);
});

test('task and delegate, which return a promise, reject on a wrong argument', async () => {
  const gear = createSwitchgear(quiet);
  await assert.rejects(
    gear.task({ limit: 1 } as never, () => 1),
    /task options has no "limit"/,
  );
  await assert.rejects(
    gear.task({ limits: { maxToolCalls: -1 } }, () => 1),
    /maxToolCalls must be a whole number/,
  );
  await assert.rejects(
    gear.task({ parent: 'nobody' }, () => 1),
    /no task with the id "nobody"/,
  );
  await assert.rejects(gear.task(undefined as never), /must be a function/);
  await assert.rejects(
    gear.delegate('', () => 1),
    /the name of a worker/,
  );
  await assert.rejects(gear.delegate('chef', undefined as never), /the worker function must be a function/);
  await assert.rejects(
    gear.delegate('chef', () => 1, { timeout: 1 } as never),
    /delegate options has no "timeout"/,
  );
  await assert.rejects(
    gear.delegate('chef', () => 1, { timeoutSecs: -1 }),
    /timeoutSecs/,
  );
  await assert.rejects(gear.retry(undefined as never), /the function to retry must be a function/);
  assert.deepEqual(gear.snapshot().tasks, []);
});

test('run guards one call: the call counts, an open breaker refuses it, and guard options apply', async () => {
  const gear = createSwitchgear({ ...quiet, clock: simulatedClock() });
  const result = await gear.run('load', async (id: number) => id + 1, { args: [1] });
  assert.equal(result, 2);
  assert.equal(
    gear.run('load', () => 'sync'),
    'sync',
  );
  for (let call = 0; call < 5; call++) {
    assert.throws(() =>
      gear.run('load', () => {
        throw new Error('down');
      }),
    );
  }
  assert.equal(refusalOf(gear.run('load', () => 'never'))?.code, 'circuit_open');
  assert.equal(
    gear.run('load', () => 'never', { fallback: () => 'instead' }),
    'instead',
  );
  assert.equal(gear.breaker('load').stats.totalFailures, 5);
  assert.throws(() => gear.run('load', () => 1, { timeout: 1 } as never), /has no "timeout"/);
});

test('repeated run calls count as a loop only if arguments are given and equal', async () => {
  const repeat = (options?: { readonly args: readonly [] }) => {
    const gear = createSwitchgear(quiet);
    return gear.task(async (task) => {
      for (let call = 0; call < 20 && task.halt === undefined; call++) await gear.run('write', () => 'ok', options);
    });
  };
  assert.equal((await repeat()).status, 'done');
  assert.equal((await repeat({ args: [] })).status, 'halted');
});

test('the overrides of one-off calls are recorded once', () => {
  const gear = createSwitchgear(quiet);
  for (let call = 0; call < 3; call++) gear.run('tool', () => 1, { timeoutSecs: 5 });
  assert.equal(gear.journal().filter(({ type }) => type === 'breaker-tuned').length, 1);
});

test('on receives entries of one type, onEntry receives all; both return an unsubscribe function', () => {
  const gear = createSwitchgear(quiet);
  const opened: string[] = [];
  const all: string[] = [];
  const leave = gear.on('breaker-opened', ({ name }) => opened.push(name));
  const leaveAll = gear.onEntry(({ type }) => all.push(type));
  gear.breaker('search').trip();
  assert.deepEqual(opened, ['search']);
  assert.ok(all.includes('breaker-opened'));
  leave();
  leaveAll();
  gear.breaker('write').trip();
  assert.deepEqual(opened, ['search']);
  assert.throws(() => gear.on((() => {}) as never, undefined as never), /the type of an entry must be a text/);
  // @ts-expect-error: there is no such entry type.
  assert.throws(() => gear.on('breaker-exploded', () => {}), /no entry has the type "breaker-exploded"/);
});

test('halt ends one task, haltAll every task', () => {
  const gear = createSwitchgear(quiet);
  const [one, two, three] = [gear.startTask(), gear.startTask(), gear.startTask()];
  gear.halt(one.id, 'enough');
  gear.halt('nobody', 'enough');
  assert.deepEqual(
    [one, two, three].map(({ halt }) => halt?.code),
    ['operator_halt', undefined, undefined],
  );
  gear.haltAll('all of them');
  assert.equal(two.halt?.code, 'operator_halt');
  assert.equal(three.halt?.code, 'operator_halt');
});

test('cards lists the open cards and answers them', () => {
  const gear = createSwitchgear(quiet);
  gear.halt(gear.startTask({ id: 't' }).id, 'enough');
  const [card] = gear.cards.list();
  assert.equal(card?.task, 't');
  assert.equal(gear.cards.answer(card!.id, card!.actions[0]!, 'ann')?.state, 'answered');
  assert.equal(gear.cards.answer('nobody', 'dismiss', 'ann'), undefined);
});

test('a call that returns a stream settles when the stream ends, and a stream error is a failure', async () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const generate = gear.guard('generate', async function* () {
    yield 1;
    throw new Error('broken');
  });
  const open = gear.guard(
    'open',
    async () => new ReadableStream({ pull: (stream) => stream.error(new Error('broken')) }),
  );
  for (const [name, call] of Object.entries({ generate, open })) {
    const stream = (await call()) as AsyncIterable<unknown>;
    await assert.rejects(async () => {
      for await (const _ of stream);
    }, /broken/);
    const { totalRequests, totalFailures } = gear.breaker(name).stats;
    assert.deepEqual([totalRequests, totalFailures], [1, 1]);
  }
});
