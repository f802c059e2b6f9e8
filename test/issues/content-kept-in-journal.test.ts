/** Values of arguments, words of workers and messages of errors were held in the journal and on cards. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

function kept(gear: ReturnType<typeof createSwitchgear>): string {
  return JSON.stringify([gear.journal(), gear.snapshot().cards]);
}

for (const action of ['abort', 'confirm', 'throttle'] as const) {
  test(`the value that a rule with action ${action} compared is passed to the caller and not stored`, async () => {
    const policy = {
      rules: [{ target: 'tool:pay', condition: 'amount>500', action }],
      journal: { level: 'all' },
    } as const;
    const asked: string[] = [];
    const approver = {
      name: 'boss',
      async ask(card: { readonly evidence: readonly string[] }) {
        asked.push(...card.evidence);
        return { approved: false, by: 'ann' };
      },
    };
    const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy, approver });
    const pay = gear.guard('pay', async ({ amount }: { amount: number }) => amount > 0);
    const task = gear.startTask();
    await task.run(() => pay({ amount: 73_519 }));
    const refused = await task.run(() => pay({ amount: 73_519.5 }));
    assert.match(refusalOf(refused)?.message ?? '', /amount 73519/);
    if (action === 'confirm') assert.match(asked.join(), /amount 73519/);
    assert.match(kept(gear), /amount exceeds threshold 500/);
    assert.doesNotMatch(kept(gear), /73519/);
  });
}

test('the class of a worker’s failure is stored, and its text is only printed', async () => {
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const gear = createSwitchgear({ clock: simulatedClock(), log, env: {} });
  await gear.task({}, async () => {
    await gear.delegate('reader', () => 'I cannot open account 73519');
    await assert.rejects(
      gear.delegate('writer', () => {
        throw new Error('wrong password hunter2');
      }),
    );
  });
  const reasons = gear.journal().flatMap((entry) => (entry.type === 'delegation-returned' ? [entry.reason] : []));
  assert.deepEqual(reasons, ['Worker reported limitation', 'failed']);
  assert.doesNotMatch(kept(gear), /73519|hunter2/);
  assert.match(lines.join('\n'), /account 73519.*hunter2/s);
});

test('an internal error is stored with its class and without its message', async () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  for (const thrown of [new RangeError('no customer hunter2'), 'hunter2']) {
    const classify = () => {
      throw thrown;
    };
    await gear.guard('tool', async () => 'result', { classify })();
  }
  const messages = gear.journal().flatMap((entry) => (entry.type === 'internal-error' ? [entry.message] : []));
  assert.deepEqual(messages, ['RangeError', 'Error']);
});

test('with journal.content the error texts are stored', async () => {
  const policy = { journal: { content: 'full' } } as const;
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy });
  await gear.task({}, () => gear.delegate('reader', () => 'I cannot open account 73519'));
  assert.match(kept(gear), /account 73519/);
});
