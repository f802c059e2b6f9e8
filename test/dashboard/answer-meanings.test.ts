/** What each button of a card says that it does. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeAnswer } from '../../dashboard/src/logic/answer-meanings.ts';
import type { PageCard } from '../../dashboard/src/logic/inbox-model.ts';
import { cardActions } from '../../src/core/card.ts';

const halt: PageCard = {
  ...{ id: 'card-1', kind: 'halt', task: 't-1', code: 'tool_call_limit', agent: 'deploy-bot', state: 'open' },
  ...{ counters: {}, evidence: [], actions: cardActions },
};

test('each action has a sentence about its scope', () => {
  for (const action of cardActions) assert.match(describeAnswer(halt, action), /^[A-Z].*\.$/, action);
});

test('a decline ends the run of a chain, and refuses a call of others', () => {
  const ask: PageCard = { ...halt, kind: 'ask' };
  assert.match(describeAnswer(ask, 'decline'), /^The call does not run/);
  const step = { run: 'r', chain: 'c', step: 's', rules: [] } as unknown as NonNullable<PageCard['step']>;
  assert.match(describeAnswer({ ...ask, step }, 'decline'), /the run ends/);
});

test('a dismissal ends a run, and only closes the card of a task or a notice', () => {
  assert.match(describeAnswer({ ...halt, details: { isAwaited: true } }, 'dismiss'), /^The run ends/);
  assert.match(describeAnswer(halt, 'dismiss'), /^The task stays ended/);
  assert.match(describeAnswer({ ...halt, kind: 'notice' }, 'dismiss'), /^The card is closed/);
});
