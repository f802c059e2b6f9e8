import assert from 'node:assert/strict';
import test from 'node:test';
import type { Stop } from '../../../src/core/verdict.ts';
import type { Runtime } from '../../../src/guard/runtime/runtime.ts';
import { hashQuestion, makeQuestionCard } from '../../../src/guard/tasks/cards.ts';

const runtime = { settings: { approval: { timeoutSecs: 60 } } } as Runtime;
const stop: Stop = { kind: 'ask', code: 'rule_declined', control: 'rules', counters: { limit: 1 }, reason: 'too much' };

test('a question card names the agent, the call and the reason, and expires after the approval timeout', () => {
  const question = { task: 't-1', title: 'a wants to call b' };
  assert.deepEqual(makeQuestionCard(runtime, 'card-1', stop, question, 1_000), {
    id: 'card-1',
    kind: 'ask',
    task: 't-1',
    code: 'rule_declined',
    counters: { limit: 1 },
    evidence: ['a wants to call b', 'too much'],
    actions: ['approve', 'decline'],
    state: 'open',
    expiresAtMs: 61_000,
  });
  const { reason: _, ...silent } = stop;
  assert.deepEqual(makeQuestionCard(runtime, 'card-1', silent, question, 0).evidence, ['a wants to call b']);
});

test('equal questions have equal ids under one secret, and different ids under another secret', () => {
  const question = ['t-1', 'mail.send', { to: 'x' }];
  assert.match(hashQuestion('secret', question), /^[0-9a-f]{16}$/);
  assert.equal(hashQuestion('secret', question), hashQuestion('secret', structuredClone(question)));
  assert.notEqual(hashQuestion('secret', question), hashQuestion('other', question));
  assert.notEqual(hashQuestion('secret', question), hashQuestion('secret', ['t-1', 'mail.send', { to: 'y' }]));
});
