import assert from 'node:assert/strict';
import test from 'node:test';
import type { Stop } from '../../../src/core/verdict.ts';
import type { Runtime } from '../../../src/guard/runtime/runtime.ts';
import { makeQuestionCard, withInput } from '../../../src/guard/tasks/cards.ts';

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

test('the person who is asked sees the input, also as the last line of the evidence', () => {
  const card = makeQuestionCard(runtime, 'card-1', stop, { task: 't-1', title: 'a wants to call b', digest: 'd' }, 0);
  assert.equal(card.digest, 'd');
  const asked = withInput(card, '{"to":"x"}');
  assert.equal(asked.input, '{"to":"x"}');
  assert.deepEqual(asked.evidence, ['a wants to call b', 'too much', 'with {"to":"x"}']);
  assert.deepEqual(withInput(card, '').evidence, card.evidence);
  assert.equal(withInput(card, undefined), card);
});
