/** Calls of frameworks: under the host's id, with its signal, asked about in its own way. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countedIdsMax } from '../../../src/core/limits.ts';
import type { PolicyInput } from '../../../src/guard/api.ts';
import { createSwitchgear } from '../../../src/guard/create-switchgear.ts';
import { hostCall, wouldAsk } from '../../../src/guard/entries/host-call.ts';
import { recordUsage } from '../../../src/guard/entries/host-usage.ts';
import { beginHostCall } from '../../../src/guard/entries/open-call.ts';
import { promisesSettled, simulatedClock } from '../../../src/testing/simulated-clock.ts';

function stage(policy: PolicyInput = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy });
  return { clock, gear, task: gear.startTask() };
}

const confirm = { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' }] } as const;
const big = [{ amount: 750 }];

/** The code of a refusal, or what was returned. */
async function outcome(answer: ReturnType<typeof hostCall>): Promise<unknown> {
  const said = await answer;
  return 'refusal' in said ? said.refusal.code : said.value;
}

test('a call is admitted synchronously, so parallel calls cannot exceed a limit together', async () => {
  const { gear, task } = stage({ task: { max_tool_calls: 2 } });
  let reached = 0;
  const calls = [1, 2, 3].map((page) => outcome(hostCall(gear, 'read', [page], async () => ++reached, { task })));
  assert.equal(reached, 2);
  assert.deepEqual(await Promise.all(calls), [1, 2, 'tool_call_limit']);
});

test('a call that exceeds its timeout is aborted and counts as one failure, however it ends', async () => {
  const { gear, task, clock } = stage();
  const work = Promise.withResolvers<string>();
  let aborted = false;
  const call = hostCall(
    gear,
    'slow',
    [],
    ({ signal }) => {
      signal.addEventListener('abort', () => {
        aborted = true;
      });
      return work.promise;
    },
    { task },
  );
  clock.advance(30_000);
  await assert.rejects(call, { name: 'TimeoutError' });
  work.resolve('late');
  await promisesSettled();
  const { totalFailures, totalSuccesses, inFlight } = gear.breaker('slow').stats;
  assert.deepEqual([aborted, totalFailures, totalSuccesses, inFlight], [true, 1, 0, 0]);
});

test('a call aborted by the signal of the host is not a failure, whatever was thrown', async () => {
  const { gear, task } = stage();
  const stop = new AbortController();
  const fails = () => {
    stop.abort();
    throw new RangeError('cut');
  };
  await assert.rejects(hostCall(gear, 'read', [], fails, { task, signal: stop.signal }), RangeError);
  const { totalFailures, totalNeutrals } = gear.breaker('read').stats;
  assert.deepEqual([totalFailures, totalNeutrals], [0, 1]);
});

test('a call aborted by the halt of its task ends as a refused call', async () => {
  const { gear, task } = stage();
  const call = hostCall(
    gear,
    'read',
    [],
    ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('gone')))),
    { task },
  );
  gear.halt(task.id, 'enough');
  assert.equal(await outcome(call), 'operator_halt');
});

test('when the host asks the person, an approval runs the call and a denial is counted as a refusal', async () => {
  const { gear, task } = stage(confirm);
  const asked: string[] = [];
  const answer = (approved: boolean) => (question: string) => {
    asked.push(question);
    return { approved, by: 'ann' };
  };
  assert.equal(await outcome(hostCall(gear, 'pay', big, () => 'paid', { task, ask: answer(true) })), 'paid');
  assert.equal(await outcome(hostCall(gear, 'pay', big, () => 'paid', { task, ask: answer(false) })), 'rule_declined');
  assert.match(asked[0] ?? '', /wants to call pay/);
  assert.equal(task.snapshot().toolCalls, 2);
});

test('an exception that the host throws to ask a person is rethrown and not counted', async () => {
  const { gear, task } = stage(confirm);
  const interrupt = () => {
    throw new Error('interrupted');
  };
  await assert.rejects(
    hostCall(gear, 'pay', big, () => 'paid', { task, ask: interrupt }),
    /interrupted/,
  );
  assert.equal(task.snapshot().toolCalls, 0);
});

test('wouldAsk predicts whether the host would ask a person, and changes no counter', async () => {
  const { gear, task } = stage(confirm);
  assert.equal(wouldAsk(gear, 'pay', big, { task }), true);
  assert.equal(wouldAsk(gear, 'pay', [{ amount: 5 }], { task }), false);
  assert.equal(wouldAsk(gear, 'read', big, { task }), false);
  assert.equal(task.snapshot().toolCalls, 0);
  const approver = { name: 'ann', ask: async () => ({ approved: true, by: 'ann' }) };
  const asking = createSwitchgear({ log: 'silent', env: {}, policy: confirm, approver });
  assert.equal(wouldAsk(asking, 'pay', big), false);
});

test('a call that the host runs is open until it is settled, without a timeout', async () => {
  const { gear, task, clock } = stage();
  const call = await beginHostCall(gear, 'read', [], { task });
  assert.ok(call.refusal === undefined);
  clock.advance(120_000);
  assert.equal(gear.breaker('read').stats.inFlight, 1);
  call.settle({ error: new Error('down') });
  call.settle({ value: 'up again' });
  await promisesSettled();
  const { inFlight, totalFailures, totalSuccesses } = gear.breaker('read').stats;
  assert.deepEqual([inFlight, totalFailures, totalSuccesses], [0, 1, 0]);
});

test('a refused call that the host would run itself is not opened', async () => {
  const { gear, task } = stage();
  gear.breaker('read').trip();
  const { refusal } = await beginHostCall(gear, 'read', [], { task });
  assert.equal(refusal?.code, 'circuit_open');
});

test('usage reported after the halt of a task is still counted', () => {
  const { gear, task } = stage();
  recordUsage(gear, task, { model: 'm', inputTokens: 10, outputTokens: 5 });
  gear.halt(task.id, 'enough');
  recordUsage(gear, task, { model: 'm', inputTokens: 10, outputTokens: 5 });
  assert.equal(task.snapshot().tokens, 30);
});

test('the same call observed under its id is not counted again', async () => {
  const { gear, task } = stage();
  await hostCall(gear, 'read', [], () => 'page', { task, id: 'call-1' });
  task.observe({ type: 'tool_use', id: 'call-1', name: 'read' });
  assert.equal(task.snapshot().toolCalls, 1);
});

test('a question that is forgotten among too many is asked again, and the others keep their inputs', async () => {
  const { gear, task } = stage(confirm);
  const ask = () => ({ approved: true, by: 'the user' });
  const pay = (id: string, amount: number) =>
    outcome(hostCall(gear, 'pay', [{ amount }], async () => 'paid', { task, id, ask }));
  for (let at = 0; at <= countedIdsMax; at++) wouldAsk(gear, 'pay', big, { id: `call-${at}`, task });
  assert.equal(await pay('call-0', 900_000), 'rule_unanswered', 'forgotten');
  assert.equal(await pay('call-7', 900_000), 'rule_unanswered', 'known, with another input');
  assert.equal(await pay('call-8', 750), 'paid');
  wouldAsk(gear, 'pay', [{ amount: 800 }], { id: 'again', task });
  assert.equal(await pay('again', 800), 'paid');
});
