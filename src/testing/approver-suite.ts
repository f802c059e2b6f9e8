/** What every approver has to keep to: one suite for all of them, to run against your own. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Card, CardAction } from '../core/card.ts';
import type { Answer, Approver } from '../ports/approver.ts';
import { promisesSettled } from './simulated-clock.ts';

/** An approver with somebody behind it who answers when the suite says so. */
export interface AnsweredApprover {
  readonly approver: Approver;
  /** Answers the question of a card; it was asked before. */
  answer(card: Card, answer: CardAction): void | Promise<void>;
  close?(): void | Promise<void>;
}

export type MakeApprover = () => AnsweredApprover | Promise<AnsweredApprover>;

const answers: readonly (readonly [CardAction, Pick<Answer, 'approved' | 'for'>])[] = [
  ['approve', { approved: true }],
  ['approve_run', { approved: true, for: 'run' }],
  ['approve_always', { approved: true, for: 'always' }],
  ['decline', { approved: false }],
];

let cards = 0;

/** A question as a chain puts it. */
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

/** Registers the tests of the contract with `node:test`. */
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
  /** Asks, and lets the question arrive. */
  const ask = async ({ approver }: AnsweredApprover, card: Card, signal = new AbortController().signal) => {
    const question = trackAnswer(approver.ask(card, signal));
    for (let turn = 0; turn < 10; turn++) await promisesSettled();
    return question;
  };

  describe(`the approver ${name}`, () => {
    contractTest('has a name, and is there', async ({ approver }) => {
      assert.ok(approver.name.length > 0);
      assert.notEqual(approver.isThere?.(), false);
    });

    for (const [action, expected] of answers) {
      contractTest(`tells ${action} as it was said, and who said it`, async (subject) => {
        const card = questionCard();
        const question = await ask(subject, card);
        await subject.answer(card, action);
        const { by, ...rest } = (await question.answer) ?? { by: undefined };
        assert.deepEqual(
          { ...rest, for: undefined, ...('for' in rest && { for: rest.for }) },
          { for: undefined, ...expected },
        );
        assert.ok(typeof by === 'string' && by.length > 0, 'somebody said it');
      });
    }

    contractTest('says nothing by itself', async (subject) => {
      const abort = new AbortController();
      const question = await ask(subject, questionCard(), abort.signal);
      assert.equal(question.isSettled(), false);
      abort.abort();
      assert.equal(await question.answer, undefined);
    });

    contractTest('lets go of a question that nobody waits for, also one that was late', async (subject) => {
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

/** An answer that may not come: undefined where the approver gave none. Wrapped, so that it is not waited for. */
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
