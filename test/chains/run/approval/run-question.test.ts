import assert from 'node:assert/strict';
import test from 'node:test';
import { RunQuestion } from '../../../../src/chains/run/approval/run-question.ts';
import type { Card } from '../../../../src/core/card.ts';

const identify = () => undefined;
const approval = { by: 'ada', identity: undefined, isCurrent: async () => true };
const answered = { id: 'ask-1', state: 'answered', answer: 'approve' } as Card;

test('a new subject is not approved, and an answered card stays until it is used', () => {
  const question = new RunQuestion();
  assert.deepEqual(question.useCard(), {});
  question.begin({ step: 's', attempt: 1, args: {}, identify });
  question.approve({ ...approval, card: 'ask-1' });
  assert.equal(question.approval?.by, 'ada');
  question.begin({ step: 's', attempt: 2, args: {}, identify });
  assert.equal(question.approval, undefined);
  assert.equal(question.subject.attempt, 2);
  const { card } = question.useCard();
  assert.equal(card?.id, 'ask-1');
  assert.equal(card?.update(answered)?.state, 'used');
  question.forgetCard();
  assert.deepEqual(question.useCard(), {});
});

test('only an answered card is used up', () => {
  const question = new RunQuestion();
  question.approve({ ...approval, card: 'ask-1' });
  const { card } = question.useCard();
  const expired = { ...answered, state: 'expired' } as Card;
  assert.equal(card?.update(expired), expired);
  assert.equal(card?.update(undefined), undefined);
});

test('an earlier approval has a person and no card, and a parked question stays parked', () => {
  const question = new RunQuestion();
  question.approve(approval);
  assert.deepEqual(question.useCard(), {});
  assert.equal(question.isParked, false);
  question.park();
  question.begin({ step: '', attempt: 1, args: {}, identify });
  assert.equal(question.isParked, true);
});
