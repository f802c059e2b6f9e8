/** The contract suite of approvers: tests that every approver has to pass. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Card, CardAction } from '../core/card.ts';
import type { Answer, Approver } from '../ports/approver.ts';
import { promisesSettled } from './simulated-clock.ts';

/** An approver under test, with a way to answer its questions. */
export interface AnsweredApprover {
  readonly approver: Approver;
  /** Answers the question of a card that was asked before. */
  answer(card: Card, answer: CardAction): void | Promise<void>;
  close?(): void | Promise<void>;
}

/** Makes an approver for one test. */
export type MakeApprover = () => AnsweredApprover | Promise<AnsweredApprover>;

const answers: readonly (readonly [CardAction, Pick<Answer, 'approved' | 'for'>])[] = [
  ['approve', { approved: true }],
  ['approve_run', { approved: true, for: 'run' }],
  ['approve_always', { approved: true, for: 'always' }],
  ['decline', { approved: false }],
];

let cards = 0;

/** Returns a card with a question of a chain step. */
export function questionCard(): Card {
  const id = `ask-${++cards}`;
  return {
    id,
    kind: 'ask',
    task: 'run',
    code: 'rule_declined',
    counters: {},
    evidence: ['plan: step pay wants to call pay', 'really pay?'],
    actions: answers.map(([action]) => action),
    state: 'open',
    step: { run: 'run', chain: 'plan', id: 'pay', rules: ['chain:plan|ability:pay|confirm'] },
  };
}

/** Registers the contract tests of an approver with `node:test`. */
export function approverSuite(name: string, makeApprover: MakeApprover): void {
  const contractTest = (title: string, run: (subject: AnsweredApprover) => Promise<void>) => {
    test(title, async () => {
      const subject = await makeApprover();
      try {
        await run(subject);
      } finally {
        await subject.close?.();
      }
    });
  };
  /** Asks a question and waits until it has arrived. */
  const ask = async ({ approver }: AnsweredApprover, card: Card, signal = new AbortController().signal) => {
    const question = trackAnswer(approver.ask(card, signal));
    for (let turn = 0; turn < 10; turn++) await promisesSettled();
    return question;
  };

  describe(`the approver ${name}`, () => {
    contractTest('has a name, and a person can be reached', async ({ approver }) => {
      assert.ok(approver.name.length > 0);
      assert.notEqual(approver.isAvailable?.(), false);
    });

    for (const [action, expected] of answers) {
      contractTest(`returns the answer ${action} and the name of the person`, async (subject) => {
        const card = questionCard();
        const question = await ask(subject, card);
        await subject.answer(card, action);
        const { by, ...rest } = (await question.answer) ?? { by: undefined };
        assert.deepEqual(
          { ...rest, for: undefined, ...('for' in rest && { for: rest.for }) },
          { for: undefined, ...expected },
        );
        assert.ok(typeof by === 'string' && by.length > 0, 'the answer has a name');
      });
    }

    contractTest('does not answer without a person', async (subject) => {
      const abort = new AbortController();
      const question = await ask(subject, questionCard(), abort.signal);
      assert.equal(question.isSettled(), false);
      abort.abort();
      assert.equal(await question.answer, undefined);
    });

    contractTest('drops a question whose signal was aborted before it was asked', async (subject) => {
      const abort = new AbortController();
      abort.abort();
      assert.equal(await (await ask(subject, questionCard(), abort.signal)).answer, undefined);
    });

    contractTest('keeps questions apart', async (subject) => {
      const [firstCard, secondCard] = [questionCard(), questionCard()];
      const first = await ask(subject, firstCard);
      await subject.answer(firstCard, 'decline');
      assert.equal((await first.answer)?.approved, false);
      const second = await ask(subject, secondCard);
      await subject.answer(secondCard, 'approve');
      assert.equal((await second.answer)?.approved, true);
    });
  });
}

/** Wraps a pending answer in an object, so that it is not awaited; undefined = the approver gave no answer. */
function trackAnswer(pendingAnswer: Promise<Answer>) {
  let isSettled = false;
  const answer = pendingAnswer.then(
    (value): Answer | undefined => value,
    (): undefined => undefined,
  );
  void answer.then(() => {
    isSettled = true;
  });
  return { answer, isSettled: () => isSettled };
}
