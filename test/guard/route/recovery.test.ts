/** Retries and fallbacks of guarded functions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, haltOf, type PolicyDocument, type Refusal, refusalOf } from '../../../src/index.ts';
import { promisesSettled, simulatedClock } from '../../../src/testing/index.ts';

function stage(policy: PolicyDocument = {}, more: object = {}) {
  const clock = simulatedClock();
  return { clock, gear: createSwitchgear({ clock, log: 'silent', env: {}, policy, ...more }) };
}

const down = () => Object.assign(new Error('down'), { status: 503 });

/** A function that fails some times with these errors, and then returns. */
function failing(...errors: readonly unknown[]) {
  const left = [...errors];
  const times: number[] = [];
  return {
    times,
    run: (clock: { nowMs(): number }) => async (_query?: string) => {
      times.push(clock.nowMs());
      if (left.length > 0) throw left.shift();
      return 'found';
    },
  };
}

test('a failed call is tried again after doubling waits, up to the cap', async () => {
  const { clock, gear } = stage();
  const tool = failing(down(), down(), down());
  const retry = { retries: 3, baseSecs: 2, maxWaitSecs: 5, jitter: 'none' } as const;
  const search = gear.guard('search', tool.run(clock), { retry });
  const result = search();
  await clock.elapse(60_000);
  assert.equal(await result, 'found');
  assert.deepEqual(tool.times, [0, 2_000, 6_000, 11_000]);
  assert.equal(gear.breaker('search').stats.totalFailures, 3);
  assert.equal(gear.breaker('search').stats.totalRequests, 4);
});

for (const [jitter, shortest] of [
  ['full', 0],
  ['equal', 0.5],
] as const) {
  test(`${jitter} jitter spreads the waits`, async () => {
    const waits: number[] = [];
    for (let at = 0; at < 40; at++) {
      const { clock, gear } = stage();
      const tool = failing(down());
      const result = gear.guard('search', tool.run(clock), { retry: { retries: 1, baseSecs: 10, jitter } })();
      await clock.elapse(10_000);
      await result;
      waits.push(tool.times[1]!);
    }
    assert.ok(waits.every((wait) => wait >= shortest * 10_000 && wait <= 10_000));
    assert.ok(new Set(waits).size > 30);
  });
}

test('settings of a policy try a tool again; others, models and synchronous functions are not', async () => {
  const { clock, gear } = stage({ tools: { search: { retries: 2 } } });
  const tool = failing(down(), down());
  const result = gear.task({}, () => gear.guard('search', tool.run(clock))('tea'));
  await clock.elapse(10_000);
  assert.equal((await result).value, 'found');
  const other = failing(down());
  await assert.rejects(gear.guard('other', other.run(clock))(), /down/);
  let calls = 0;
  const sync = gear.guard('search', () => {
    calls++;
    throw down();
  });
  assert.throws(() => sync(), /down/);
  assert.equal(calls, 1);
  const general = stage({ circuit_breaker: { retries: 2 } });
  const model = failing(down());
  await assert.rejects(general.gear.guard('gpt', model.run(general.clock), { kind: 'model' })(), /down/);
});

for (const [title, error] of [
  ['a status of 404', Object.assign(new Error('gone'), { status: 404 })],
  ['wrong arguments', Object.assign(new Error('bad'), { name: 'ZodError' })],
  ['an abort', new DOMException('stopped', 'AbortError')],
  ['a denial', Object.assign(new Error('no'), { permission_denied: true })],
] as const) {
  test(`${title} is not tried again`, async () => {
    const { clock, gear } = stage();
    const tool = failing(error);
    const result = gear.guard('search', tool.run(clock), { retry: 3 })();
    const rejected = assert.rejects(result, error);
    await clock.elapse(60_000);
    await rejected;
    assert.equal(tool.times.length, 1);
  });
}

test('Retry-After is waited for within the cap, and not tried again beyond it', async () => {
  const { clock, gear } = stage();
  const limited = (secs: number) => Object.assign(new Error('slow'), { status: 429, headers: { 'retry-after': secs } });
  const tool = failing(limited(7));
  const result = gear.guard('search', tool.run(clock), { retry: { retries: 1, baseSecs: 0.1 } })();
  await clock.elapse(8_000);
  assert.equal(await result, 'found');
  assert.ok(tool.times[1]! >= 7_000);
  const long = failing(limited(120));
  const failed = gear.guard('search', long.run(clock), { retry: 3 })();
  await assert.rejects(failed, /slow/);
  assert.equal(long.times.length, 1);
});

test('Retry-After may be a date, which counts from the date of the response', async () => {
  const date = 'Wed, 28 Feb 2024 23:59:50 GMT';
  const named = { date, 'retry-after': 'Thu, 29 Feb 2024 00:00:05 GMT' };
  for (const headers of [named, new Headers(named)]) {
    const { clock, gear } = stage();
    const tool = failing(Object.assign(new Error('slow'), { status: 503, headers }));
    const result = gear.guard('search', tool.run(clock), { retry: { retries: 1, baseSecs: 0.1 } })();
    await clock.elapse(14_999);
    assert.equal(tool.times.length, 1);
    await clock.elapse(1_000);
    assert.equal(await result, 'found');
  }
  // A time that has passed, a date without that of the response, and any other text ask for no wait.
  for (const headers of [{ date, 'retry-after': date }, { 'retry-after': date }, { date, 'retry-after': 'soon' }]) {
    const { clock, gear } = stage();
    const tool = failing(Object.assign(new Error('slow'), { status: 503, headers }));
    const result = gear.guard('search', tool.run(clock), { retry: { retries: 1, baseSecs: 0.1 } })();
    await clock.elapse(100);
    assert.equal(await result, 'found');
  }
});

test('a refusal is not tried again, and neither is a call that a person approved', async () => {
  const open = stage({ circuit_breaker: { failure_threshold: 2 } });
  const tool = failing(down(), down(), down());
  const result = open.gear.guard('search', tool.run(open.clock), { retry: 5 })();
  await open.clock.elapse(60_000);
  assert.equal(refusalOf(await result)?.code, 'circuit_open');
  assert.equal(tool.times.length, 2);

  const limit = stage();
  const counted = failing(down(), down(), down());
  const run = limit.gear.task({ limits: { maxToolCalls: 2 } }, () =>
    limit.gear.guard('search', counted.run(limit.clock), { retry: 5 })(),
  );
  await limit.clock.elapse(60_000);
  assert.equal(haltOf(await run)?.code, 'tool_call_limit');
  assert.equal(counted.times.length, 2);

  let asked = 0;
  const ask = async () => {
    asked++;
    return { approved: true, by: 'ann' };
  };
  const person = stage({ rules: ['ability:search|confirm|"Search?"'] }, { approver: { name: 'ann', ask } });
  const approved = failing(down());
  const once = person.gear.guard('search', approved.run(person.clock), { retry: 5 })();
  const rejected = assert.rejects(once, /down/);
  await person.clock.elapse(60_000);
  await rejected;
  assert.equal(asked, 1);
});

test('an abort during the wait rejects with the reason of the signal, and a halt with its refusal', async () => {
  const { clock, gear } = stage();
  const controller = new AbortController();
  const tool = failing(down());
  const retry = { retries: 1, baseSecs: 10, jitter: 'none' } as const;
  const result = gear.guard('search', tool.run(clock), { retry, signal: controller.signal })();
  result.catch(() => {});
  await clock.elapse(1_000);
  const reason = new Error('closed');
  controller.abort(reason);
  await assert.rejects(result, reason);

  const cancelled = failing(down());
  const signal = AbortSignal.abort(reason);
  const retried = gear.retry(() => cancelled.run(clock)(), { signal });
  await assert.rejects(retried, /down/); // The call itself ran; there is no wait to abort.
  const later = new AbortController();
  const waiting = gear.retry(cancelled.run(clock), { ...retry, signal: later.signal });
  assert.equal(await waiting, 'found');
  const third = failing(down());
  const ended = gear.retry(third.run(clock), { ...retry, signal: later.signal });
  ended.catch(() => {});
  await promisesSettled();
  later.abort(reason);
  await assert.rejects(ended, reason);

  const halted = failing(down());
  const run = gear.task({ limits: { maxDurationSecs: 5 } }, () => gear.guard('halted', halted.run(clock), { retry })());
  await clock.elapse(60_000);
  assert.equal(haltOf(await run)?.code, 'duration_limit');
  assert.equal(halted.times.length, 1);
});

test('when decides alone, also for errors that are not worth a retry by default', async () => {
  const { clock, gear } = stage();
  const missing = () => Object.assign(new Error('not yet'), { status: 404 });
  const tool = failing(missing(), missing());
  const result = gear.guard('search', tool.run(clock), { retry: { when: () => true } })();
  await clock.elapse(60_000);
  assert.equal(await result, 'found');
  const never = failing(down());
  await assert.rejects(gear.guard('search', never.run(clock), { retry: { when: () => false } })(), /down/);
});

test('gear.retry does not try an error of the caller again', async () => {
  const { clock, gear } = stage();
  const tool = failing(Object.assign(new Error('gone'), { status: 410 }));
  await assert.rejects(gear.retry(tool.run(clock)), /gone/);
  assert.equal(tool.times.length, 1);
});

test('a value that counts as a failure is tried again, and answered by the fallback', async () => {
  const { clock, gear } = stage();
  let calls = 0;
  const fetchPage = async () => new Response('', { status: ++calls < 3 ? 503 : 200 });
  const result = gear.guard('page', fetchPage, { retry: 2 })();
  await clock.elapse(60_000);
  assert.equal(((await result) as Response).status, 200);
  const error = { isError: true, content: [] };
  const report = gear.guard('report', async () => error as object, { fallback: (failure) => ({ failure }) });
  const { failure } = (await report()) as { failure: Error };
  assert.equal(failure.cause, error);
});

test('a fallback answers for an error, a timeout and an open circuit, and the failures count', async () => {
  const { clock, gear } = stage({ circuit_breaker: { failure_threshold: 2 } });
  const seen: (Refusal | Error)[] = [];
  const fallback = (failure: Refusal | Error, query: string) => {
    seen.push(failure);
    return `cached ${query}`;
  };
  const error = down();
  const search = gear.guard('search', (_query: string): Promise<string> => Promise.reject(error), { fallback });
  const hang = gear.guard('search', (_query: string): Promise<string> => new Promise(() => {}), { fallback });
  const result = search('tea');
  assert.ok(result instanceof Promise);
  assert.equal(await result, 'cached tea');
  const hung = hang('rum');
  await clock.elapse(31_000);
  assert.equal(await hung, 'cached rum');
  assert.equal(gear.breaker('search').state, 'OPEN');
  const open = search('oil');
  assert.ok(open instanceof Promise);
  assert.equal(await open, 'cached oil');
  assert.equal(seen[0], error);
  assert.equal((seen[1] as Error).name, 'TimeoutError');
  assert.equal((seen[2] as Refusal).code, 'circuit_open');
});

test('the fallback of a synchronous function is synchronous', () => {
  const { gear } = stage();
  const read = gear.guard(
    'read',
    (_path: string): string => {
      throw new TypeError('unreadable');
    },
    { fallback: (failure, path) => `${path}: ${failure.message}` },
  );
  assert.equal(read('a'), 'a: unreadable');
  assert.equal(gear.breaker('read').stats.totalFailures, 1);
  assert.throws(
    () =>
      gear.run(
        'read',
        () => {
          throw new Error('first');
        },
        {
          fallback: () => {
            throw new Error('second');
          },
        },
      ),
    /second/,
  );
});

test('a fallback is not called for a rule, a limit, a halt, a declined approval or a cancelled call', async () => {
  const fallback = () => 'instead';
  const work = async () => 'done';
  const approver = { name: 'ann', ask: async () => ({ approved: false, by: 'ann' }) };
  const rules = ['ability:drop|abort|"Never."', 'ability:pay|confirm|"Pay?"'];
  const { gear } = stage({ rules }, { approver });
  const refusedBy = async (name: string) => refusalOf(await gear.guard(name, work, { fallback })())?.code;
  assert.equal(await refusedBy('drop'), 'rule_abort');
  assert.equal(await refusedBy('pay'), 'rule_declined');
  const run = await gear.task({ limits: { maxToolCalls: 1 } }, async () => {
    await gear.guard('a', work, { fallback })();
    return gear.guard('a', work, { fallback })();
  });
  assert.equal(haltOf(run)?.code, 'tool_call_limit');
  assert.notEqual(run.value, 'instead');
  const abort = async (): Promise<string> => Promise.reject(new DOMException('stopped', 'AbortError'));
  await assert.rejects(gear.guard('b', abort, { fallback })(), /stopped/);
  const { gear: throwing } = stage({ rules: ['ability:drop|abort|"Never."'] }, { onRefusal: 'throw' });
  const inner = throwing.guard('drop', work);
  const outer = throwing.guard('outer', async () => inner(), { fallback });
  await assert.rejects(outer(), (error) => refusalOf(error)?.code === 'rule_abort');
  const full = stage().gear;
  let release = () => {};
  const held = () =>
    new Promise<string>((resolve) => {
      release = () => resolve('done');
    });
  const one = full.guard('one', held, { fallback, maxConcurrent: 1 });
  const running = one();
  assert.equal(refusalOf(await one())?.code, 'concurrency_limit');
  release();
  assert.equal(await running, 'done');
});

test('a halt by the failure itself ends the call with its error, not with a fallback', async () => {
  const { gear } = stage();
  const run = await gear.task({}, async () => {
    const task = gear.currentTask()!;
    const tool = gear.guard(
      'tool',
      async (): Promise<string> => {
        gear.halt(task.id, 'enough');
        throw down();
      },
      { fallback: () => Promise.resolve('instead') },
    );
    return tool();
  });
  assert.equal(run.status, 'halted');
  assert.notEqual(run.value, 'instead');
});

test('wrong options of retries and queues are refused when the function is guarded', () => {
  const { gear } = stage();
  const work = async () => 1;
  for (const options of [
    { retry: -1 },
    { retry: { retries: 1.5 } },
    { retry: { jitter: 'some' } },
    { retry: { tries: 2 } },
    { maxQueue: -1 },
    { queueTimeoutSecs: 0 },
    { signal: {} },
  ]) {
    assert.throws(
      () => gear.guard('work', work, options as object),
      { name: 'SwitchgearError' },
      JSON.stringify(options),
    );
  }
});

test('a call whose signal was aborted before does not run, and no fallback answers for it', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const reason = new Error('the user left');
  const options = { signal: AbortSignal.abort(reason), fallback: () => 1 };
  let ran = 0;
  const later = async (): Promise<number> => {
    ran++;
    throw new Error('down');
  };
  await assert.rejects(async () => gear.run('later', later, options), reason);
  await assert.rejects(async () => gear.guard('later', later, options)(), reason);
  assert.throws(() => gear.guard('now', () => ran++, options)(), reason);
  assert.equal(ran, 0);
});
