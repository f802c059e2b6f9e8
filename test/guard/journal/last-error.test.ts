/** The last error of a tool in refusals and log lines, and nowhere in what is stored. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf } from '../../../src/index.ts';

async function fail(policy: object = {}, error: () => unknown = () => new Error('503 upstream, password=hunter2')) {
  const lines: string[] = [];
  const gear = createSwitchgear({ log: (line) => lines.push(line), policy });
  const search = gear.guard('search', async (): Promise<string> => Promise.reject(error()));
  for (let call = 0; call < 5; call++) await search().catch(() => undefined);
  const refusal = refusalOf(await search());
  return { gear, lines, refusal };
}

test('a refusal and the log have the last error, without its secrets', async () => {
  const { lines, refusal } = await fail();
  assert.match(
    refusal?.explanation ?? '',
    /^search keeps failing \(5 of 5\): .*; last error: 503 upstream, password=\[/,
  );
  assert.equal(refusal?.lastError, '503 upstream, password=[secret]');
  assert.ok(
    lines.some((line) => line.includes('search failed (1 of 5): Error: 503 upstream')),
    lines.join('\n'),
  );
  assert.ok(lines.some((line) => /search tripped \(it failed 5 times, last error: 503 upstream.*\); calls/.test(line)));
  assert.ok(!lines.some((line) => line.includes('hunter2')));
});

test('the journal keeps the message only where the policy keeps texts', async () => {
  const plain = await fail();
  assert.doesNotMatch(JSON.stringify(plain.gear.journal()), /upstream|hunter2/);
  const kept = await fail({ journal: { content: 'redacted' } });
  const text = JSON.stringify(kept.gear.journal().filter(({ type }) => type === 'failure-counted'));
  assert.match(text, /503 upstream/);
  assert.doesNotMatch(text, /hunter2/);
});

test('a timeout and an HTTP status are named as such', async () => {
  const { refusal } = await fail({}, () => ({ status: 500 }));
  assert.equal(refusal?.lastError, 'HTTP 500');
  const lines: string[] = [];
  const gear = createSwitchgear({ log: (line) => lines.push(line) });
  const slow = gear.guard('slow', (): Promise<string> => new Promise(() => undefined), { timeoutSecs: 0.001 });
  await slow().catch(() => undefined);
  assert.ok(lines.some((line) => line.includes('slow failed (1 of 5): NetworkError: no answer within 0.001 s')));
});

test('a call outside a task and a halt say what to do, and which setting changes it', async () => {
  const lines: string[] = [];
  const gear = createSwitchgear({ log: (line) => lines.push(line), policy: { task: { maxToolCalls: 1 } } });
  const read = gear.guard('read', () => 'page');
  read();
  assert.ok(
    lines.some((line) =>
      line.endsWith('read was called outside a task: no budget applies; put gear.task(…) around it'),
    ),
  );
  await gear.task(() => [read(), read()]);
  assert.ok(
    lines.some((line) => line.endsWith('tool calls: 2 of 1; task.max_tool_calls changes that')),
    lines.join('\n'),
  );
});

test('a rule that asks where nobody can be asked says so', async () => {
  const rules = [{ target: 'pay', condition: 'amount>5', action: 'confirm' as const }];
  const gear = createSwitchgear({ log: 'silent', policy: { rules } });
  const pay = gear.guard('pay', async (_: { amount: number }) => 'paid');
  const refusal = refusalOf(await gear.task(async () => pay({ amount: 9 })).then(({ value }) => value));
  assert.equal(refusal?.code, 'rule_unanswered');
  assert.match(refusal?.message ?? '', /^No approver is available for 'pay'/);
});
