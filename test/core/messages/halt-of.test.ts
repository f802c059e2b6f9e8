/** One function finds the refusal in every result and error. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protect } from '../../../src/adapters/fetch.ts';
import { createSwitchgear, haltOf, RefusedError, type refusalOf } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

function stage() {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy: { task: { max_tool_calls: 1 } } });
  return { clock, gear };
}

async function haltedTask() {
  const { gear } = stage();
  const look = gear.guard('look', () => 1);
  return gear.task(() => [look(), look()] as const);
}

test('haltOf knows results, refused values, errors, wrapped and collected errors, and data', async () => {
  const result = await haltedTask();
  assert.equal(result.status, 'halted');
  const { halt } = result as { halt: NonNullable<ReturnType<typeof refusalOf>> };
  const error = new RefusedError(halt);
  const copied = structuredClone(halt);
  const values: readonly unknown[] = [
    result,
    result.value?.[1],
    error,
    new Error('wrapped', { cause: new Error('twice', { cause: error }) }),
    new AggregateError([new Error('other'), error]),
    { reason: error },
    { switchgear: copied },
    { providerMetadata: { switchgear: copied } },
    { steps: [{}, { providerMetadata: { switchgear: copied } }] },
    { messages: [{}, { response_metadata: { switchgear: copied } }] },
    { _meta: { switchgear: copied } },
    { tripwire: { metadata: { switchgear: copied } } },
    Object.assign(new Error('403'), { status: 403, error: { type: 'switchgear_refused', ...copied } }),
    Object.assign(new Error('403'), { error: { type: 'error', error: { type: 'switchgear_refused', ...copied } } }),
    Object.assign(new Error('of another copy'), { name: 'RefusedError', refusal: copied }),
  ];
  for (const value of values) assert.equal(haltOf(value)?.code, 'tool_call_limit', JSON.stringify(value));
});

test('haltOf prefers a halt to a refused call, and finds nothing in other values', () => {
  const denied = { code: 'circuit_open', kind: 'deny', message: 'm', explanation: 'e' };
  const halted = { ...denied, code: 'tool_loop', kind: 'halt' };
  assert.equal(haltOf(new AggregateError([{ switchgear: denied }, { switchgear: halted }]))?.code, 'tool_loop');
  assert.equal(haltOf({ switchgear: denied })?.kind, 'deny');
  const circular: { cause?: unknown } = {};
  circular.cause = circular;
  const hostile = new Proxy({}, { get: () => assert.fail() });
  for (const value of [undefined, null, 1, 'text', [], {}, new Error('other'), circular, hostile, { switchgear: 1 }]) {
    assert.equal(haltOf(value), undefined);
  }
});

test('a halted task resolves, whatever its function throws', async () => {
  for (const thrown of [new Error('own'), 'text', undefined]) {
    const { gear } = stage();
    const look = gear.guard('look', () => 1);
    const result = await gear.task(() => {
      look();
      if (typeof look() === 'object') throw thrown;
    });
    assert.equal(result.status, 'halted');
    assert.equal(haltOf(result)?.code, 'tool_call_limit');
    assert.equal((result as { error?: unknown }).error, thrown);
  }
});

test('a cancelled task has a code and words of its own, the reason of the caller, and no card', async () => {
  const { gear } = stage();
  const controller = new AbortController();
  const reason = new Error('the user pressed stop');
  let seen: unknown;
  const running = gear.task({ signal: controller.signal }, async (task) => {
    const call = gear.guard('hang', () => {
      const signal = gear.currentCall()?.signal;
      signal?.addEventListener('abort', () => {
        seen = signal.reason;
      });
      return new Promise(() => {});
    });
    controller.abort(reason);
    await call();
    return task.signal.reason;
  });
  const result = await running;
  assert.equal(result.status, 'halted');
  assert.deepEqual(
    [haltOf(result)?.code, haltOf(result)?.message],
    ['cancelled', 'Cancelled by the caller: the user pressed stop'],
  );
  assert.equal(result.value, reason);
  assert.equal(seen, undefined); // The call was refused: it never ran.
  assert.deepEqual(gear.cards.list(), []);
  assert.doesNotMatch(JSON.stringify(gear.journal()), /pressed stop/);
});

test('a task that an operator halts has a code of its own, and a card', async () => {
  const { gear } = stage();
  const result = await gear.task((task) => gear.halt(task.id, 'maintenance'));
  assert.equal(haltOf(result)?.code, 'operator_halt');
  assert.match(haltOf(result)?.remediation ?? '', /operator/);
  assert.equal(gear.cards.list().length, 1);
});

test('haltOf finds a refusal in itself, and in the refused response of a fetch', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const result = await gear.task({ id: 'report' }, () => gear.halt('report', 'enough'));
  assert.equal(haltOf(haltOf(result))?.code, 'operator_halt');
  const fetch = protect(async () => Response.json({ usage: { prompt_tokens: 100, completion_tokens: 20 } }), { gear });
  await gear.task({ limits: { maxTokens: 100 } }, async () => {
    const send = () => Reflect.apply(fetch, undefined, ['https://model.test/v1', { body: '{"model":"gpt-4o"}' }]);
    await (await send()).text();
    assert.equal(haltOf(await send())?.code, 'token_limit');
  });
});

test('a task whose signal aborted before it began does not run', async () => {
  const { gear } = stage();
  let ran = false;
  const result = await gear.task({ signal: AbortSignal.abort(new Error('the user left')) }, () => {
    ran = true;
  });
  assert.deepEqual([ran, result.status, haltOf(result)?.code], [false, 'halted', 'cancelled']);
  assert.match(haltOf(result)?.message ?? '', /the user left/);
  assert.deepEqual(gear.snapshot().tasks, []);
});
