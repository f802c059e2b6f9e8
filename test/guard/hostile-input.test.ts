/** What a careless or hostile host hands in: a clear error at set-up, and never a throw while guarding. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBreaker } from '../../src/breaker.ts';
import {
  BreakerRegistry,
  checkCircuitBreaker,
  estimateUsageCents,
  parseNyaya,
  parseRule,
  recordDelegationFailure,
} from '../../src/compat/index.ts';
import { runtimeOf } from '../../src/guard/runtime/runtime.ts';
import { createSwitchgear, isRefused, refusalOf, SwitchgearError, type SwitchgearOptions } from '../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../src/testing/index.ts';

const hostile = (): never => {
  throw new Error('hostile');
};
const traps = Object.fromEntries(
  ['get', 'has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'set', 'apply'].map((trap) => [
    trap,
    hostile,
  ]),
);
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const circular: Record<string, unknown> = {};
circular.self = circular;
const big = 'x'.repeat(10 * 1024 * 1024);

/** Values that no caller should hand in, and some caller does. */
const values: Readonly<Record<string, unknown>> = {
  undefined,
  null: null,
  'a number': 7,
  NaN: Number.NaN,
  infinity: Number.POSITIVE_INFINITY,
  'a bigint': 10n,
  'a symbol': Symbol('s'),
  'an empty text': '',
  'ten million characters': big,
  'a list': [1],
  'an object': { surprise: 1 },
  'an object with a prototype of its own': JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'),
  'an object without a prototype': Object.create(null),
  'a getter that throws': {
    get agent() {
      return hostile();
    },
  },
  'a proxy that throws': new Proxy({}, traps),
  'a function that throws when looked at': new Proxy(() => {}, { ...traps, apply: () => 1 }),
  'a revoked proxy': revoked.proxy,
  'a circle': circular,
  'a date': new Date(0),
  'an object that cannot be printed': { toString: hostile, toJSON: hostile, [Symbol.toPrimitive]: hostile },
  'an object with an endless key': { [big]: 1 },
  'an object with endless values': { agent: big, id: big, text: big, name: big, kind: big },
};

const quiet = { log: 'silent', env: {} } as const;

function gearOf(more: Partial<SwitchgearOptions> = {}) {
  const clock = simulatedClock();
  return { clock, gear: createSwitchgear({ ...quiet, clock, ...more }) };
}

type Run = (...args: unknown[]) => unknown;
type Loose = Readonly<Record<string, Run>>;
const loose = () => gearOf().gear as unknown as Loose;
const methodOf =
  (name: string): Run =>
  (...args) =>
    loose()[name]!(...args);
const [admitLoose, retryLoose, watchLoose, reloadLoose, tightenLoose] = [
  'admit',
  'retry',
  'watch',
  'reload',
  'addModelRules',
].map(methodOf) as [Run, Run, Run, Run, Run];
const looseTask = () => gearOf().gear.startTask() as unknown as Loose;

const gearOptions = 'agent session policy store clock prices approver mode onRefusal log project env'.split(' ');
const guardOptions = 'kind breaker timeoutSecs fallback classify maxCost usage async'.split(' ');
const taskOptions = 'id agent session parent limits signal'.split(' ');
const admitOptions = 'id kind turnId task'.split(' ');

/** Every way to hand something in before anything runs. */
const setups: Readonly<Record<string, (value: unknown) => unknown>> = {
  createSwitchgear: (value) => createSwitchgear(value as SwitchgearOptions),
  ...each('createSwitchgear', gearOptions, (part) => createSwitchgear({ ...quiet, ...part })),
  'guard name': (value) => loose().guard!(value, () => 1),
  'guard function': (value) => loose().guard!('x', value),
  'guard options': (value) => loose().guard!('x', () => 1, value),
  ...each('guard', guardOptions, (part) => loose().guard!('x', () => 1, part)),
  guardAll: (value) => loose().guardAll!(value),
  startTask: (value) => loose().startTask!(value),
  ...each('startTask', taskOptions, (part) => loose().startTask!(part)),
  'task options': (value) => loose().task!(value, () => 1),
  'task function': (value) => loose().task!({}, value),
  'task.run': (value) => looseTask().run!(value),
  'task.end': (value) => looseTask().end!(value),
  'admit name': (value) => admitLoose(value, []),
  'admit options': (value) => admitLoose('x', [], value),
  ...each('admit', admitOptions, (part) => admitLoose('x', [], part)),
  'delegate worker': (value) => loose().delegate!(value, () => 1),
  'delegate function': (value) => loose().delegate!('w', value),
  'delegate options': (value) => loose().delegate!('w', () => 1, value),
  'retry function': (value) => retryLoose(value, { retries: 0 }),
  'retry options': (value) => retryLoose(() => 1, value),
  'watch name': (value) => watchLoose(value, { on() {} }, () => {}),
  'watch source': (value) => watchLoose('w', value, () => {}),
  'watch listener': (value) => watchLoose('w', { on() {} }, value),
  'watch options': (value) => watchLoose('w', { on() {} }, () => {}, value),
  breaker: (value) => loose().breaker!(value),
  on: (value) => loose().on!(value),
  journal: (value) => loose().journal!(value),
  reload: (value) => reloadLoose(value),
  tighten: (value) => tightenLoose(value),
  'tighten, one line': (value) => tightenLoose([value]),
  'tighten chain': (value) => tightenLoose(['amount>1|abort'], value),
  parseRule: (value) => parseRule(value as string),
  parseNyaya: (value) => parseNyaya(value as string),
};

function each(what: string, names: readonly string[], call: (part: Record<string, unknown>) => unknown) {
  return Object.fromEntries(names.map((name) => [`${what}, ${name}`, (value: unknown) => call({ [name]: value })]));
}

/** What this process worked, not what a loaded machine had it wait. */
function cpuMsSince(started: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1_000;
}

for (const [what, setUp] of Object.entries(setups)) {
  test(`${what} accepts any value or throws a short error`, async () => {
    for (const [name, value] of Object.entries(values)) {
      const started = process.cpuUsage();
      try {
        await setUp(value);
      } catch (error) {
        assert.ok(error instanceof SwitchgearError, `${name}: ${(error as Error)?.stack}`);
        assert.ok(error.message.length < 1_000, `${name}: a message of ${error.message.length} characters`);
      }
      assert.ok(cpuMsSince(started) < 1_000, `${name}: took too long`);
    }
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });
}

test('an option object without its methods is rejected at set-up, not at the first call', () => {
  for (const part of ['clock', 'store', 'prices', 'approver', 'controls']) {
    for (const bad of [7, 'x', {}, { nowMs: 1 }, [{}]]) {
      assert.throws(() => createSwitchgear({ ...quiet, [part]: bad }), { code: 'invalid_argument' }, part);
    }
  }
});

test('arguments and results of any kind pass through a guarded call untouched', async () => {
  const { gear } = gearOf();
  const task = gear.startTask({ limits: { maxToolCalls: 1_000 } });
  for (const [name, value] of Object.entries(values)) {
    const seen: unknown[] = [];
    const tool = gear.guard(`sync ${name}`, (...args: unknown[]) => {
      seen.push(...args);
      return value;
    });
    for (const run of [() => tool(value, [value]), () => task.run(() => tool(value, [value]))]) {
      seen.length = 0;
      assert.equal(run(), value, name);
      assert.equal(seen[0], value, name);
    }
    const later = gear.guard(`async ${name}`, async () => [value]);
    assert.equal(((await task.run(() => later())) as unknown[])[0], value, name);
  }
  assert.equal(gear.snapshot().internalErrors, 0);
  assert.equal(task.halt, undefined);
});

test('a rule fires if the arguments cannot be read, and not if the arguments lack the value', () => {
  const { gear } = gearOf({ policy: { rules: [{ target: '*', condition: 'amount>1', action: 'abort' }] } });
  for (const [name, value] of Object.entries(values)) {
    const isUnreadable = name === 'a proxy that throws' || name === 'a revoked proxy';
    const result = gear.guard('look', (_: unknown) => 'ran')(value);
    assert.equal(refusalOf(result)?.code, isUnreadable ? 'rule_abort' : undefined, name);
  }
});

test('any thrown value is rethrown unchanged and counted once', async () => {
  for (const [name, value] of Object.entries(values)) {
    const { gear } = gearOf();
    const fail = gear.guard('fail', () => {
      throw value;
    });
    const reject = gear.guard('reject', async () => Promise.reject(value));
    const caught: unknown[] = [];
    try {
      fail();
    } catch (error) {
      caught.push(error);
    }
    await reject().catch((error) => caught.push(error));
    assert.equal(caught.length, 2, name);
    assert.ok(
      caught.every((error) => Object.is(error, value)),
      name,
    );
    for (const tool of ['fail', 'reject']) {
      const { totalFailures, totalNeutrals, inFlight } = gear.breaker(tool).stats;
      assert.deepEqual([totalFailures + totalNeutrals, inFlight], [1, 0], `${tool}: ${name}`);
    }
  }
});

test('task.observe accepts any value, never throws, and keeps its counters valid', () => {
  const parts = 'text id name model inputTokens outputTokens costUsd cacheReadTokens cacheWriteTokens toolUse'.split(
    ' ',
  );
  for (const [name, value] of Object.entries(values)) {
    const { gear } = gearOf();
    const task = gear.startTask({ limits: { maxToolCalls: 1_000 } });
    const tell = (observation: unknown) => task.observe(observation as never);
    const started = process.cpuUsage();
    tell(value);
    tell({ type: value });
    for (const type of ['assistant', 'tool_use', 'usage', 'user', 'heartbeat']) {
      for (const part of parts) tell({ type, inputTokens: 1, outputTokens: 1, [part]: value });
    }
    assert.ok(cpuMsSince(started) < 2_000, `${name}: took too long`);
    const { tokens, spendUsd, toolCalls, durationMs } = task.snapshot();
    for (const number of [tokens, spendUsd, toolCalls, durationMs]) assert.ok(number >= 0, `${name}: ${number}`);
  }
});

test('a host can settle a call with any value, and the slot of the call is freed', () => {
  for (const [name, value] of Object.entries(values)) {
    const { gear } = gearOf();
    for (const ending of [value, { value }, { error: value }, { cancelled: value }]) {
      const admission = gear.admit('host', [value]);
      assert.equal(admission.refused, undefined, name);
      if (admission.refused === undefined) admission.settle(ending as never);
    }
    assert.equal(gear.breaker('host').stats.inFlight, 0, name);
  }
});

test('an error thrown by a listener is counted and changes no result', async () => {
  const { gear } = gearOf({ policy: { journal: { level: 'all' } } });
  gear.onEntry(hostile);
  const told: string[] = [];
  gear.onEntry(({ type }) => told.push(type));
  assert.equal(await gear.guard('x', async () => 'fine')(), 'fine');
  assert.ok(gear.snapshot().internalErrors > 0);
  assert.ok(told.includes('action-settled'));
});

test('if a callback of the host throws, the call is settled and its maximum cost counts as spent', async () => {
  for (const [name, thrown] of Object.entries(values)) {
    const broken = () => {
      throw thrown;
    };
    for (const part of ['classify', 'usage'] as const) {
      const { gear } = gearOf();
      const task = gear.startTask();
      const call = gear.guard('model', async () => 'fine', { kind: 'model', maxCost: { usd: 0.03 }, [part]: broken });
      assert.equal(await task.run(() => call()), 'fine', `${part}: ${name}`);
      assert.equal(gear.breaker('model').stats.inFlight, 0, `${part}: ${name}`);
      assert.equal(task.snapshot().spendUsd, 0.03, `${part}: ${name}`);
      assert.equal(gear.snapshot().internalErrors, 1, `${part}: ${name}`);
    }
    const { gear } = gearOf();
    const unsure = gear.guard('model', async () => 'fine', { maxCost: broken });
    assert.equal(refusalOf(await unsure())?.code, 'internal_error', name);
  }
});

test('a health check that throws or returns an invalid value leaves the breaker open', async () => {
  for (const [name, value] of Object.entries(values)) {
    for (const healthCheck of [() => value as boolean, () => Promise.reject(value)]) {
      const { gear, clock } = gearOf({
        policy: { circuit_breaker: { failure_threshold: 1, recovery_timeout_secs: 3600 } },
      });
      const call = gear.guard('x', async () => Promise.reject(new Error('no')));
      gear.breaker('x').checkHealth(healthCheck);
      await call().catch(() => {});
      const task = gear.startTask();
      await clock.elapse(40_000);
      assert.equal(gear.breaker('x').state, 'OPEN', name);
      task[Symbol.dispose]();
    }
  }
});

test('an approver that throws or returns an invalid answer does not approve', async () => {
  const policy = { rules: [{ target: '*', condition: 'ability:pay', action: 'confirm' }] } as const;
  for (const [name, value] of Object.entries(values)) {
    for (const ask of [() => value, () => Promise.reject(value), () => ({ approved: value }), hostile]) {
      const { gear } = gearOf({ policy, approver: { name: 'odd', ask: ask as never } });
      let ran = false;
      const pay = gear.guard('pay', async () => {
        ran = true;
      });
      assert.ok(isRefused(await pay()), name);
      assert.equal(ran, false, name);
    }
  }
});

test('a worker can return or throw any value, and its judge function can throw any value', async () => {
  for (const [name, value] of Object.entries(values)) {
    const { gear } = gearOf({ policy: { delegation: { max_failures: 100 } } });
    await gear.task({ limits: { maxToolCalls: 1_000 } }, async () => {
      if (!isThenable(value)) assert.equal(((await gear.delegate('w', () => [value])) as unknown[])[0], value, name);
      const thrown = await gear.delegate('w', () => Promise.reject([value])).catch((error: unknown[]) => error);
      assert.equal((thrown as unknown[])[0], value, name);
      const judge = () => {
        throw value;
      };
      await gear.delegate('w', () => 'fine', { judge }).catch(() => {});
    });
    await promisesSettled();
    const [task] = gear.snapshot().tasks;
    assert.equal(task, undefined, name);
  }
});

test('a function that needs a gear throws one sentence for any other value', () => {
  for (const value of Object.values(values)) {
    assert.throws(
      () => runtimeOf(value as never),
      /^SwitchgearError: the gear must be one that createSwitchgear made, got /,
    );
  }
});

test('halt and retryOptions accept any value, and cards.answer rejects an unknown answer', () => {
  for (const value of Object.values(values)) {
    const { gear } = gearOf();
    const task = gear.startTask();
    const anything = gear as unknown as Loose;
    assert.doesNotThrow(() => gear.retryOptions(value as never));
    const answer = () => gear.cards.answer(value as never, value as never, value as never);
    assert.throws(answer, { code: 'invalid_argument', message: /^the answer must be one of / });
    assert.doesNotThrow(() => anything.halt!(task.id, value));
    assert.equal(task.halt?.code, 'operator_halt');
  }
});

test('a hostile halt reason is shortened before a person reads it', () => {
  const { gear } = gearOf();
  const task = gear.startTask();
  gear.halt(task.id, big);
  assert.ok(task.halt!.message.length < 500);
  assert.ok(JSON.stringify(gear.snapshot()).length < 20_000);
});

test('a task that has ended cannot be halted by a signal that aborts later', () => {
  const { gear } = gearOf();
  const controller = new AbortController();
  const task = gear.startTask({ signal: controller.signal });
  task.end();
  controller.abort();
  assert.equal(gear.journal().filter(({ type }) => type === 'task-halted').length, 0);
  assert.equal(gear.snapshot().cards.length, 0);
});

test('a task that ends while paused does not leave its parent paused', async () => {
  const { gear, clock } = gearOf();
  const parent = gear.startTask();
  const child = gear.startTask({ parent: parent.id });
  child.pause();
  clock.advance(10_000);
  child.end();
  clock.advance(10_000);
  assert.equal(parent.snapshot().durationMs, 10_000);
  clock.advance(400_000);
  assert.equal(parent.halt?.code, 'idle_timeout');
});

test('a task that was not paused cannot lift the pause of its parent', () => {
  const { gear, clock } = gearOf();
  const parent = gear.startTask();
  const child = gear.startTask({ parent: parent.id });
  parent.pause();
  child.resume();
  clock.advance(3_000_000);
  assert.equal(parent.snapshot().durationMs, 0);
  assert.equal(parent.halt, undefined);
});

test('a limit raised during a call applies when the call ends', async () => {
  const { gear } = gearOf({ policy: { task: { max_tool_calls: 2 } } });
  const task = gear.startTask();
  let end: (error: Error) => void = () => {};
  const slow = gear.guard('slow', () => new Promise<never>((_, reject) => (end = reject)), { async: true });
  const quick = gear.guard('quick', async () => 1);
  const out = task.run(() => slow()).catch(() => {});
  gear.reload({ task: { max_tool_calls: 50 } });
  for (let at = 0; at < 5; at++) await task.run(() => quick());
  end(new Error('no'));
  await out;
  assert.equal(task.halt, undefined);
});

test('a standalone breaker checks its options at set-up', () => {
  for (const [name, value] of Object.entries(values)) {
    if (name.includes('prox') || name.includes('looked at')) continue; // What throws when it is read says so itself.
    for (const option of [
      'clock',
      'onRefusal',
      'failureThreshold',
      'trip',
      'mode',
      'windowCalls',
      'countErrors',
      'surprise',
    ]) {
      if (value === undefined || (option === 'countErrors' && Array.isArray(value))) continue;
      if (typeof value === 'number' && Number.isInteger(value)) continue;
      assert.throws(() => createBreaker({ [option]: value } as never), SwitchgearError, `${option}: ${name}`);
    }
  }
});

test('a standalone breaker passes on any result or error and counts each call once', async () => {
  for (const [name, value] of Object.entries(values)) {
    // To see a promise, the breaker alone has to look at the result.
    if (name.includes('prox') || name.includes('looked at')) continue;
    const breaker = createBreaker({ clock: simulatedClock(), failureThreshold: 100 });
    assert.equal(
      breaker.execute(() => value),
      value,
      name,
    );
    assert.equal((await breaker.execute(async () => [value]))[0], value, name);
    const thrown = () => {
      throw value;
    };
    assert.throws(
      () => breaker.execute(thrown),
      (error) => Object.is(error, value),
      name,
    );
    await breaker.execute(async () => thrown()).catch((error) => assert.ok(Object.is(error, value), name));
    const permit = breaker.admit();
    if (!permit.refused) breaker.settle(permit, value as never);
    breaker.settle(permit as never);
    const { totalRequests, totalSuccesses, totalFailures, totalNeutrals, inFlight } = breaker.stats;
    assert.deepEqual([totalRequests, totalSuccesses + totalFailures + totalNeutrals, inFlight], [5, 5, 0], name);
  }
});

test('the functions of the compatible API throw no unexpected error for any value', () => {
  const registry = new BreakerRegistry();
  for (const value of Object.values(values)) {
    assert.doesNotThrow(() => estimateUsageCents(value as never));
    assert.doesNotThrow(() => checkCircuitBreaker(value as never, 'w'));
    assert.doesNotThrow(() => recordDelegationFailure(value as never, 'w', 'no', () => {}));
    assert.throws(() => registry.register('chain', value as never), SwitchgearError);
  }
});

function isThenable(value: unknown): boolean {
  try {
    return typeof (value as PromiseLike<unknown>)?.then === 'function';
  } catch {
    return true;
  }
}
