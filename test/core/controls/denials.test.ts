import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cancelled, success } from '../../../src/core/action.ts';
import { denials } from '../../../src/core/controls/denials.ts';
import { allow } from '../../../src/core/verdict.ts';
import { bindControl, makeLimits, makeStop } from '../../harness/control-story.ts';

const control = denials(makeLimits({ maxDenials: 2 }));
const deny = makeStop('deny');
const ofBudget = (scope: string) =>
  makeStop('deny', { code: 'token_spend_limit', control: 'budget', counters: { scope, actual: 4, limit: 3 } });

test('the denials control has one state per task and never refuses a proposal', () => {
  assert.deepEqual([control.name, control.scope], ['denials', 'task']);
  assert.deepEqual(control.initial(3), { inARow: 0, turn: null, turnPassed: false });
  const task = bindControl(control);
  for (let times = 0; times < 3; times++) task.decided(deny);
  assert.equal(task.judge(), allow);
});

test('refusals in a row are counted, and only a tool call that succeeds clears the count', () => {
  const task = bindControl(denials(makeLimits({ maxDenials: 9 })));
  const rows: readonly [what: string, tell: () => void, inARow: number][] = [
    ['a refusal', () => task.decided(deny), 1],
    ['a halt is one', () => task.decided(makeStop('halt')), 2],
    ['a wait is none', () => task.decided(makeStop('wait')), 2],
    ['a question is none', () => task.decided(makeStop('ask')), 2],
    ['an admission clears nothing', () => task.decided(allow), 2],
    ['the no of a person is none', () => task.decided(makeStop('deny', { code: 'rule_declined' })), 2],
    ['a wait that nobody could make is none', () => task.decided(makeStop('deny', { waited: true })), 2],
    ['amounts that a store is asked for are none', () => task.decided(makeStop('deny', { pending: true })), 2],
    ['the budget of a key is none', () => task.decided(ofBudget('key'), { kind: 'model' }), 2],
    ['the budget of a model is none', () => task.decided(ofBudget('model'), { kind: 'model' }), 2],
    ['a failure clears nothing', () => task.settled({ kind: 'failure', error: 'E', errorFingerprint: 0 }), 2],
    ['a cancelled call clears nothing', () => task.settled(cancelled), 2],
    ['words clear nothing', () => task.tell({ type: 'user-observed', atMs: 0 }), 2],
    ['a model that answers clears nothing', () => task.settled(success, { kind: 'model' }), 2],
    ['a success clears them', () => task.settled(success), 0],
    ['a question that nobody answers is one', () => task.decided(makeStop('deny', { code: 'rule_unanswered' })), 1],
  ];
  for (const [what, tell, inARow] of rows) {
    tell();
    assert.equal(task.cell.state.inARow, inARow, what);
  }
});

test('refusals of one reported turn count once, and not at all if a call of the turn was allowed', () => {
  const task = bindControl(denials(makeLimits({ maxDenials: 9 })));
  const rows: readonly [turnId: string, verdict: typeof deny | typeof allow, inARow: number, turnPassed: boolean][] = [
    ['a', deny, 1, false],
    ['a', deny, 1, false],
    ['b', deny, 2, false],
    ['b', allow, 1, true],
    ['b', allow, 1, true],
    ['b', deny, 1, true],
    ['c', allow, 1, true],
    ['c', deny, 1, true],
    ['d', deny, 2, false],
  ];
  for (const [turnId, verdict, inARow, turnPassed] of rows) {
    task.decided(verdict, { turnId });
    assert.deepEqual(task.cell.state, { inARow, turn: turnId, turnPassed });
  }
  task.settled(success);
  task.decided(allow, { turnId: 'd' });
  assert.deepEqual(task.cell.state, { inARow: 0, turn: 'd', turnPassed: true });
});

test('the task halts when the denials reach the limit, and the gauge reports the count below the limit', () => {
  const task = bindControl(control);
  task.decided(deny);
  assert.equal(task.check(), allow);
  assert.deepEqual(task.gauges(), [{ name: 'denials', actual: 1, limit: 2 }]);
  task.decided(deny);
  const counters = { actual: 2, limit: 2 };
  assert.deepEqual(task.check(), { kind: 'halt', code: 'denial_limit', control: 'denials', counters });
});

test('an allowed call removes the one refusal counted for its turn', () => {
  const task = bindControl(denials(makeLimits({ maxDenials: 9 })));
  task.decided(deny, { turnId: 'a' });
  task.decided(allow, { turnId: 'a' });
  assert.equal(task.cell.state.inARow, 0);
});
