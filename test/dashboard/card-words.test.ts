/** The words of cards and of their buttons. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkArguments,
  effectSentence,
  isIncomplete,
  listAnswers,
  listCommonAnswers,
} from '../../dashboard/src/logic/card-answers.ts';
import {
  answerWords,
  argumentsOf,
  causesOf,
  counterName,
  describeClosed,
  describeEquals,
  describeRule,
  headlineOf,
  limitOf,
  outcomeOf,
  reasonsOf,
  shownCountersOf,
  splitCommand,
} from '../../dashboard/src/logic/card-words.ts';
import type { PageCard } from '../../dashboard/src/logic/inbox-model.ts';
import { cardActions } from '../../src/core/card.ts';

const halt: PageCard = {
  ...{ id: 'card-1', kind: 'halt', task: 't-1', code: 'tool_call_limit', agent: 'deploy-bot', state: 'open' },
  ...{ counters: { actual: 6, limit: 5 }, evidence: ['tool calls: 6 of 5'], actions: ['retry_raised', 'dismiss'] },
};
const question: PageCard = {
  ...{ id: 'card-2', kind: 'ask', task: 't-1', code: 'rule_declined', state: 'open' },
  ...{ counters: { rule: 'pay|ability:pay|confirm' }, evidence: ['ops wants to call pay', 'really?', 'with {"a":1}'] },
  ...{ actions: ['approve', 'approve_edited', 'decline'], input: '{"a":1}' },
};

test('the headline says who stopped and why, once', () => {
  assert.equal(headlineOf(halt), 'deploy-bot stopped: tool calls: 6 of 5');
  assert.equal(headlineOf({ ...halt, evidence: ['deploy-bot is paused'] }), 'deploy-bot is paused');
  assert.equal(
    headlineOf({ ...halt, evidence: ['too often; a setting changes that'] }),
    'deploy-bot stopped: too often',
  );
  assert.equal(headlineOf({ ...halt, evidence: [] }), 'deploy-bot stopped: tool call limit');
  assert.equal(headlineOf(question), 'ops wants to call pay');
  const status = 'calls 6 of 5 · $0.31 of $50.00 · 02:13 of 30:00';
  const ofRun = { ...halt, evidence: [status, 'the last call may have run', 'tool calls: 6 of 5'] };
  assert.equal(headlineOf(ofRun), 'deploy-bot stopped: tool calls: 6 of 5');
  assert.deepEqual(reasonsOf(ofRun), [
    'the last call may have run',
    'The task reached its limit of tool calls: 6 of 5.',
  ]);
});

test('the reasons of a question leave out its headline and its arguments, which are shown by themselves', () => {
  assert.deepEqual(reasonsOf(question), ['really?']);
  assert.equal(argumentsOf(question), '{\n  "a": 1\n}');
  assert.equal(argumentsOf({ ...question, input: '{"cut' }), '{"cut');
  assert.equal(argumentsOf({ ...question, input: '' }), '');
  assert.equal(argumentsOf(halt), undefined);
  assert.deepEqual(reasonsOf(halt), ['The task reached its limit of tool calls: 6 of 5.']);
});

test('the limit names its rule, or its setting with the place where it was set', () => {
  assert.deepEqual(limitOf(question), { rule: 'pay|ability:pay|confirm' });
  assert.deepEqual(limitOf(halt), { text: '5' }, 'an origin that is not known is not told');
  const counters = [
    {
      name: 'spend_cents',
      used: 600,
      limit: 500,
      unit: 'cents',
      setting: 'task.max_spend_cents',
      source: 'a.toml, line 4',
    },
  ];
  assert.deepEqual(limitOf({ ...halt, details: { counters } }), {
    setting: 'task.max_spend_cents',
    text: '= $5.00 (a.toml, line 4)',
  });
  assert.deepEqual(['tool_calls', 'spend_cents', 'duration_secs'].map(counterName), [
    'Tool calls',
    'Spend',
    'Duration',
  ]);
});

test('a card of a repetition says it in words: no counter of its task is named as the cause', () => {
  const sentence = "the same call of 'Read' returned the same 6 times, with nothing new in between";
  const setting = 'if it is meant to be repeated: [loop.tools] Read = "poll"';
  const counters = [
    { name: 'tool_calls', used: 0, limit: 50, setting: 'task.max_tool_calls', source: 'default' },
    { name: 'denials', used: 2, limit: 5, setting: 'task.max_denials', source: 'default' },
  ];
  const seen = { name: 'Read', evidence: 'same_call', times: 6, secs: 4, limit: 5 };
  const loop: PageCard = {
    ...{ ...halt, code: 'tool_loop', counters: seen, details: { counters } },
    evidence: [`${sentence}; ${setting}`],
  };
  assert.equal(headlineOf(loop), `deploy-bot stopped: ${sentence}`);
  assert.deepEqual([limitOf(loop), causesOf(loop)], [{ text: setting }, [`${sentence}; ${setting}`]]);
  assert.deepEqual(
    shownCountersOf(loop).map(({ name }) => name),
    ['denials'],
  );
  const told = "deploy-bot: 'Read' was called 6 times with the same result in a row; a suspicion: nothing was refused";
  const points = { name: 'Read', evidence: 'same_call', times: 6, of: 6, stale: 9, turns: 11, points: 24, strong: 1 };
  const suspicion: PageCard = {
    ...{ ...loop, kind: 'notice', code: 'notice', counters: points, evidence: [told], actions: ['pause', 'dismiss'] },
  };
  assert.equal(headlineOf(suspicion), told);
  assert.deepEqual([limitOf(suspicion), causesOf(suspicion)], [undefined, []]);
  const refused = { name: 'tool_loop', used: 3, limit: 2, setting: 'loop.refused_repeats', source: 'default' };
  const again: PageCard = { ...loop, counters: { actual: 3, limit: 2 }, details: { counters: [refused, ...counters] } };
  assert.deepEqual(limitOf(again), { setting: 'loop.refused_repeats', text: '= 2 (default)' });
});

test('counters of which nothing is used are not shown, except the one of the halt', () => {
  const counters = [
    { name: 'tool_calls', used: 0, limit: 0 },
    { name: 'spend_cents', used: 5, limit: 500 },
    { name: 'denials', used: 0, limit: 5 },
  ];
  const names = (card: PageCard) => shownCountersOf({ ...card, details: { counters } }).map(({ name }) => name);
  assert.deepEqual(names(halt), ['tool_calls', 'spend_cents']);
  assert.deepEqual(names(question), ['spend_cents']);
});

test('a person who was too late reads who was first', () => {
  assert.equal(describeClosed({ ...halt, state: 'answered', answer: 'pause', by: 'bob' }), 'bob was first: paused.');
  assert.match(describeClosed({ ...question, state: 'expired' }), /expired before/);
});

test('each action of a card has a button, with its scope in words and a body that the API takes', () => {
  const all = listAnswers({ ...question, actions: cardActions });
  assert.deepEqual(all.map(({ action }) => action).toSorted(), cardActions.toSorted());
  assert.deepEqual(
    all.map(({ label }) => label),
    [
      ...['Approve once', 'Approve for this run', 'Approve always', 'Edit and approve…', 'Decline…', 'Try again'],
      ...['Narrow the request…', 'Hand back for a new plan…', 'Pause', 'Dismiss'],
    ],
  );
  for (const { label, dialog } of all) assert.equal(dialog !== undefined, label.endsWith('…'), label);
  const bodies = Object.fromEntries(all.map(({ action, body }) => [action, body('{"a":2}')]));
  assert.deepEqual(bodies.approve_edited, { answer: 'approve', for: 'once', edit: { a: 2 } });
  assert.deepEqual(bodies.narrow_scope, { answer: 'narrow', request: '{"a":2}' });
  assert.deepEqual(bodies.decline, { answer: 'decline', note: '{"a":2}' });
});

test('the button of a retry names the new limit in its unit', () => {
  const raise = { setting: 'task.max_spend_cents', suggested: 750, min: 601, max: 2_000 };
  const counters = [{ name: 'spend_cents', used: 600, limit: 500, unit: 'cents', setting: raise.setting }];
  const [button] = listAnswers({ ...halt, details: { raise, counters } }, 750);
  assert.equal(button?.label, 'Try again with a limit of $7.50');
  assert.deepEqual(button?.body(''), { answer: 'retry', limit: 750 });
});

test('a card that stands for several equal ones says so on its buttons, and decides them all', () => {
  const buttons = listAnswers({ ...halt, count: 7, actions: ['narrow_scope', 'replan', 'dismiss'] });
  assert.deepEqual(
    buttons.map(({ label }) => label),
    ['Narrow the request…', 'Hand back for a new plan (all 7)…', 'Dismiss (all 7)'],
  );
  assert.deepEqual(buttons.at(-1)?.body(''), { answer: 'dismiss', equals: 6 });
  const asked = listAnswers({ ...question, count: 3 });
  assert.deepEqual(
    asked.map(({ label }) => label),
    ['Approve once (all 3)', 'Edit and approve…', 'Decline (all 3)…'],
  );
  assert.deepEqual(asked[0]?.body(''), { answer: 'approve', for: 'once', equals: 2 });
  const [together] = listCommonAnswers([{ ...question, count: 3 }, question]);
  assert.deepEqual([together?.label, together?.body('').equals], ['Approve once', undefined], 'each has its own count');
});

test('a card that stands for equal ones names their tasks; a single one does not', () => {
  assert.equal(describeEquals(question), undefined);
  const decides = 'One answer decides them all.';
  assert.deepEqual(describeEquals({ ...question, count: 3, equalTasks: ['t-2', 't-3'] }), {
    ...{ title: 'Same question in 3 tasks', text: `t-1, t-2, t-3. ${decides}` },
  });
  assert.deepEqual(describeEquals({ ...question, count: 2, equalTasks: ['t-1'] }), {
    ...{ title: 'Same question 2 times', text: `t-1. ${decides}` },
  });
  assert.deepEqual(describeEquals({ ...question, count: 3, equalTasks: ['t-1', 't-2'] }), {
    ...{ title: 'Same question 3 times in 2 tasks', text: `t-1, t-2. ${decides}` },
  });
  assert.deepEqual(describeEquals({ ...halt, count: 40, equalTasks: ['t-2'] }), {
    ...{ title: 'Same cause in 40 tasks', text: `t-1, t-2 and 38 more. ${decides}` },
  });
});

test('a rule is shown as its condition and action, with its target where the condition does not name it', () => {
  assert.deepEqual(describeRule('pay|ability:pay|confirm'), { text: 'ability:pay → confirm' });
  assert.deepEqual(describeRule('*|a>1|abort'), { text: 'a>1 → abort' });
  assert.deepEqual(describeRule('chain:plan|ability:pay|confirm'), {
    ...{ text: 'ability:pay → confirm', target: 'chain plan' },
  });
  assert.deepEqual(describeRule('pay|to=a|b|confirm'), { text: 'to=a|b → confirm', target: 'pay' });
  assert.deepEqual(describeRule('something else'), { text: 'something else' });
});

test('a question is incomplete until its details are there; a halt never is', () => {
  assert.deepEqual([isIncomplete(question), isIncomplete({ ...question, details: {} })], [true, false]);
  assert.equal(isIncomplete(halt), false);
});

test('a card of the past has its counter, once', () => {
  assert.deepEqual(causesOf(halt), []);
  assert.deepEqual(causesOf({ ...halt, evidence: ['too many calls'] }), ['Tool call limit: 6 of 5']);
  assert.deepEqual(causesOf({ ...question, counters: {}, input: undefined as never }), ['really?', 'with {"a":1}']);
});

test('several cards offer what all of them offer, and never the arguments of one', () => {
  assert.deepEqual(listCommonAnswers([halt, question]), []);
  assert.deepEqual(
    listCommonAnswers([question, question]).map(({ action }) => action),
    ['approve', 'decline'],
  );
});

test('edited arguments must be JSON', () => {
  assert.equal(checkArguments('{"a":1}'), undefined);
  assert.match(checkArguments('{a:1}') ?? '', /^This is not JSON: /);
});

test('an error that names a command is split, so that the command can be copied', () => {
  const error = 'No process waits for this answer; start the agent again in a terminal: switchgear inbox retry card-1';
  assert.deepEqual(splitCommand(error), {
    words: 'No process waits for this answer; start the agent again in a terminal.',
    command: 'switchgear inbox retry card-1',
  });
  assert.deepEqual(splitCommand('card-1 was answered already: approve by bob'), {
    words: 'card-1 was answered already: approve by bob',
  });
});

test('the effect is the sentence of the server, or one from the card as the store has it', () => {
  assert.equal(effectSentence({ card: halt, effect: { sentence: 'Ann raised the limit.' } }), 'Ann raised the limit.');
  const card: PageCard = { ...question, state: 'answered', answer: 'approve', by: 'ann' };
  assert.equal(
    effectSentence({ card, effect: { released: 2 } }),
    'ann: approved once. 2 equal questions were released with it.',
  );
  assert.equal(outcomeOf(card), answerWords.approve);
  assert.equal(outcomeOf({ ...question, state: 'expired' }), 'expired without an answer');
  assert.equal(outcomeOf({ ...question, kind: 'notice', state: 'expired' }), 'over');
});
