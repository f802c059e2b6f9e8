import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Outcome, success } from '../../../../src/core/action.ts';
import type { Card } from '../../../../src/core/card.ts';
import { redact } from '../../../../src/core/controls/rules/redaction.ts';
import type { EntryBody } from '../../../../src/core/event.ts';
import { makeAction, makePermit, makeStop } from '../../../harness/control-story.ts';

const told = 'amount 750 exceeds threshold 500';
const bare = 'amount exceeds threshold 500';
const verdict = makeStop('deny', { code: 'rule_abort', reason: `no: ${told}`, rules: ['r'] });

const refused = (reason: string, seen: string): EntryBody => ({
  type: 'action-refused',
  action: makeAction({ hits: [{ rule: 'r', seen }] }),
  decision: { verdict: { ...verdict, reason: `no: ${reason}` }, votes: [] },
  message: `Task stopped: ${reason}`,
  enforced: true,
});

test('redaction removes the observed number from rule messages at any depth', () => {
  assert.deepEqual(redact(refused(told, told)), refused(bare, bare));
  const halted = (reason: string): EntryBody => ({
    type: 'task-halted',
    stop: { ...verdict, reason },
    message: reason,
    enforced: true,
  });
  assert.deepEqual(redact(halted(told)), halted(bare));
  const card = (sentence: string): Card => ({
    ...{ id: 'c', kind: 'ask', task: 't', code: 'rule_abort', counters: { limit: 500, rule: 'r' }, state: 'open' },
    ...{ evidence: ['first', sentence], actions: ['pause'] },
  });
  assert.deepEqual(redact(card(told)), card(bare));
  assert.deepEqual(redact(card('a -1.5e3 exceeds threshold 2')), card('a exceeds threshold 2'));
  assert.deepEqual(redact(card('a 750 of 500')), card('a 750 of 500'), 'other numbers stay');
  const none = { ...card(told), by: null } as unknown as Card;
  assert.deepEqual(redact(none), { ...none, evidence: ['first', bare] }, 'nothing stays nothing');
});

test('the entry of a call is stored without the values that rules saw; any other entry is stored unchanged', () => {
  const proposed = (seen?: string): EntryBody => ({
    type: 'action-allowed',
    action: makeAction(seen === undefined ? {} : { hits: [{ rule: 'r', seen }] }),
    probe: false,
  });
  assert.deepEqual(redact(proposed(told)), proposed(bare));
  const plain = proposed();
  assert.equal(redact(plain), plain);
  const settled = (outcome: Outcome, seen?: string) =>
    ({
      type: 'action-settled',
      permit: makePermit(makeAction(seen === undefined ? {} : { hits: [{ rule: 'r', seen }] })),
      outcome,
    }) as EntryBody;
  assert.deepEqual(redact(settled(success, told)), settled(success, bare));
  const quiet = settled({ kind: 'failure', error: told, errorFingerprint: 0 });
  assert.equal(redact(quiet), quiet, 'no rule said that');
  const ended = { type: 'task-ended', how: told } as unknown as EntryBody;
  assert.equal(redact(ended), ended);
  const rejected: EntryBody = { type: 'rule-rejected', line: 'r', reason: told };
  assert.equal(redact(rejected), rejected);
});
