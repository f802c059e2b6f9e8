import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codes, findCode, listSettingsOf } from '../../../src/core/controls/registry.ts';
import { explain, listCardActions } from '../../../src/core/messages/explain.ts';
import { endSentence, textForModel } from '../../../src/core/messages/model-text.ts';
import type { Stop } from '../../../src/core/verdict.ts';
import { makeStop } from '../../harness/control-story.ts';

const told = (stop: Stop) => explain(stop, { name: 'search', agent: 'a', atMs: 1_000 });
const words = (stop: Stop) => {
  const { message, remediation, explanation } = told(stop);
  return [message, remediation, explanation];
};
const counted = (code: Stop['code'], counters: Stop['counters'], said: Partial<Stop> = {}) =>
  makeStop('halt', { code, counters, ...said });

test('a refusal contains the fields of the verdict and the target of the action', () => {
  const {
    message: _,
    remediation: __,
    explanation: ___,
    ...bare
  } = told(makeStop('halt', { counters: { actual: 1 } }));
  assert.deepEqual(bare, {
    code: 'circuit_open',
    control: 'breaker',
    kind: 'halt',
    counters: { actual: 1 },
    name: 'search',
  });
  const timed = explain(makeStop('wait', { retryAtMs: 5 }), { name: 'x', agent: 'a', task: 't', atMs: 0 });
  assert.deepEqual([timed.kind, timed.retryAtMs, timed.task], ['deny', 5, 't']);
  assert.equal(told(makeStop('deny')).kind, 'deny');
  assert.deepEqual(['retryAtMs' in told(makeStop('deny')), 'task' in told(makeStop('deny'))], [false, false]);
});

test('the message of an open circuit states the wait and the time left in whole seconds', () => {
  const open = (said: Partial<Stop>, counters = {}) =>
    words(makeStop('deny', { counters: { failures: 5, limit: 5, wait_secs: 60, ...counters }, ...said }));
  assert.deepEqual(open({ retryAtMs: 30_001 }), [
    "Tool 'search' circuit breaker open - too many recent failures",
    'Wait for recovery_timeout (60s) or investigate recent tool failures.',
    'search keeps failing (5 of 5): refused, next try in 30s',
  ]);
  assert.match(open({ retryAtMs: 500 })[2]!, /next try in 0s$/);
  assert.match(open({})[2]!, /next try after a manual reset$/);
  assert.match(open({}, { wait_secs: 'manual' })[1]!, /\(manual reset\)/);
  assert.match(words(makeStop('deny'))[1]!, /\(\?s\)/);
  assert.deepEqual(open({}, { held: 1 }).slice(1), [
    'An operator has paused this tool. Use another way, or ask the user.',
    'search is held open by hand',
  ]);
});

test('the message of a task limit states the actual value and the limit', () => {
  const rows: readonly [Stop, cause: string, setting?: string][] = [
    [counted('tool_call_limit', { actual: 51, limit: 50 }), 'tool calls: 51 of 50'],
    [counted('tool_call_limit', {}), 'tool calls: ? of ?'],
    [counted('token_spend_limit', { actual: 5_001, limit: 5_000 }), 'spend: $50.01 of $50.00'],
    [counted('token_spend_limit', { actual: 'unknown', limit: 5_000 }), 'spend: unknown of $50.00'],
    [counted('token_limit', { actual: 9, limit: 8 }), 'tokens: 9 of 8'],
    [counted('duration_limit', { actual: 9, limit: 8 }), 'running for 9 s of 8 s'],
    [counted('idle_timeout', { actual: 9, limit: 8 }), 'silent for 9 s of 8 s'],
    [
      counted('output_loop', { actual: 3, similarity: 0.97, threshold: 0.95 }),
      'the same output came 3 times, and no call in between brought anything new',
      'window_size and similarity_jaccard_threshold of [loop] change that',
    ],
    [
      counted('tool_loop', { name: 'search', evidence: 'same_failure', times: 5, secs: 0 }),
      "the same call of 'search' failed 5 times, with no change in between",
      'repeats of [loop] changes that',
    ],
    [
      counted('tool_loop', { name: 'job.get', evidence: 'same_call', times: 5, secs: 0 }),
      "the same call of 'job.get' returned the same 5 times, with nothing new in between",
      'if it is meant to be repeated: [loop.tools] "job.get" = "poll"',
    ],
    [counted('denial_limit', { actual: 5, limit: 5 }), 'refused calls in a row: 5 of 5'],
    [counted('task_paused', {}), 'paused'],
    [counted('task_paused', {}, { reason: 'paused by hand' }), 'paused by hand'],
    [counted('rule_abort', {}), "a rule forbids 'search'"],
    [counted('rule_abort', {}, { reason: 'never on Sundays' }), 'never on Sundays'],
  ];
  for (const [stop, cause, setting] of rows) {
    const [message, remediation, explanation] = words(stop);
    const whole = setting === undefined ? cause : `${cause}; ${setting}`;
    assert.deepEqual([message, explanation], [`Task stopped: ${cause}`, whole]);
    assert.ok(remediation);
  }
});

test('the message of a shared budget states its own reason, and the wait if the call may be retried', () => {
  const spent = (said: Partial<Stop>) =>
    words(makeStop('deny', { code: 'token_spend_limit', counters: { actual: 100, limit: 50 }, ...said }));
  assert.deepEqual(spent({ reason: 'the day is spent' }), [
    'Call refused: the day is spent',
    'Make no more calls. Say what you found and what is missing.',
    'the day is spent',
  ]);
  assert.deepEqual(spent({ retryAtMs: 3_000 }).slice(0, 2), [
    'Call refused: spend: $1.00 of $0.50',
    'Try again in 2s.',
  ]);
});

test('each refusal of a single call has its own message', () => {
  const busy = words(makeStop('deny', { code: 'concurrency_limit', counters: { actual: 2, limit: 2 } }));
  assert.deepEqual(busy[0], "Tool 'search' already runs 2 calls at once (limit 2)");
  const storm = words(makeStop('deny', { code: 'storm', counters: { actual: 4, limit: 3 } }));
  assert.equal(storm[0], "Watcher 'search' paused: 4 events (limit 3)");
  const broken = (said: Partial<Stop>) => words(makeStop('deny', { code: 'internal_error', ...said }))[2];
  assert.equal(broken({ reason: 'a bug' }), 'internal error while deciding on search: a bug');
  assert.equal(broken({}), 'internal error while deciding on search: unknown');
});

test('the message of a refusal by a rule contains the reason of the rule, if the rule has one', () => {
  const rule = (code: Stop['code'], said: Partial<Stop> = {}) => words(makeStop('deny', { code, ...said }));
  assert.deepEqual(rule('rule_declined').slice(0, 1), ["'search' was not approved"]);
  assert.deepEqual(rule('rule_unanswered', { reason: 'big sum' }), [
    "Nobody approved 'search': big sum",
    'Approval is needed and nobody answered. Ask the user.',
    "nobody approved 'search': big sum",
  ]);
  const throttled = { counters: { actual: 11, limit: 10 }, retryAtMs: 61_000 };
  assert.deepEqual(rule('rule_throttled', { reason: 'too fast' }), [
    "'search' is limited: too fast",
    'Try again after a manual reset.',
    "'search' is limited: too fast",
  ]);
  assert.deepEqual(rule('rule_throttled', throttled), [
    "'search' is limited (11 of 10)",
    'Try again in 60s.',
    "'search' is limited (11 of 10)",
  ]);
});

test('the message of a failing worker states its name, a possible cause and an alternative worker', () => {
  const stop = (kind: Stop['kind'], counters: Stop['counters']) =>
    words(makeStop(kind, { code: 'delegation_limit', counters: { actual: 2, limit: 2, ...counters } }));
  const [message, remediation, explanation] = stop('halt', { worker: 'chef', hint: 'Database may be down.' });
  assert.equal(message, 'Task stopped: chef has failed 2 times (limit: 2)');
  assert.equal(remediation, 'Safety limit reached. Database may be down. Do not delegate to chef again.');
  assert.match(explanation!, /chef has failed 2\+ times\. Database may be down\./);
  const denied = stop('deny', { alternative: 'cook' });
  assert.equal(denied[0], 'Delegation refused: search has failed 2 times (limit: 2)');
  assert.match(denied[1]!, /Try different approach\. Do not delegate to search again\. Try cook instead\.$/);
  assert.deepEqual(stop('deny', { depth: 5 }), [
    "Delegation refused: 'search' would be 5 levels below the first task (limit 2)",
    'Do the work here, or give it back to the one who sent you.',
    "'search' would be 5 levels below the first task (limit 2)",
  ]);
});

test('a card offers to raise the limits or to pause, and after too many calls to narrow the scope', () => {
  assert.deepEqual(listCardActions('tool_call_limit'), ['retry_raised', 'pause', 'narrow_scope', 'replan', 'dismiss']);
  assert.deepEqual(listCardActions('denial_limit'), ['retry_raised', 'pause', 'replan', 'dismiss']);
});

test('a refused call that comes again unchanged: words for the model, and for a person with the setting', () => {
  assert.deepEqual(words(counted('tool_loop', { actual: 3, limit: 2 })), [
    "Task stopped: you called 'search' unchanged 3 times although it was refused",
    'Do not repeat the call. Tell the user what is missing, and ask the user how to go on.',
    "'search' was proposed unchanged 3 times although it was refused (limit 2); refused_repeats of [loop] changes that",
  ]);
});

test('nobody can be asked: the words say so instead of that nobody answered', () => {
  const [message, remediation, explanation] = words(
    makeStop('deny', { code: 'rule_unanswered', control: 'rules', counters: { approver: 'none' }, reason: 'big sum' }),
  );
  assert.equal(message, "No approver is available for 'search': big sum");
  assert.match(remediation ?? '', /nobody can be asked here/);
  assert.match(explanation ?? '', /give the gear an approver$/);
});

test('every halt names a setting, a person or a rule that changes it', () => {
  const without = codes.filter((code) => findCode(code).kind.includes('halt') && listSettingsOf(code).length === 0);
  assert.deepEqual(without, ['operator_halt', 'cancelled'], 'those that somebody did on purpose');
  assert.deepEqual(listSettingsOf('tool_call_limit'), ['task.max_tool_calls']);
});

test('the text for a model about an open circuit has the count, the last error and the wait', () => {
  const stop = makeStop('deny', { counters: { failures: 5, limit: 5, wait_secs: 60 } });
  const refusal = explain(stop, { name: 'search', agent: 'a', atMs: 0, lastError: '503 upstream' });
  assert.equal(
    textForModel(refusal),
    "'search' is out of order (circuit breaker open: it failed 5 times in a row, last: 503 upstream). " +
      'Do not call it for the next 60 s. Use another way, or tell the user what you could not do.',
  );
  assert.match(refusal.explanation, /; last error: 503 upstream$/);
  const sentence = explain(stop, { name: 'search', agent: 'a', atMs: 0, lastError: 'The server ended.' });
  assert.match(textForModel(sentence), /last: The server ended\)\. Do not call it/);
  const manual = makeStop('deny', { counters: { failures: 1, limit: 1, wait_secs: 'manual' } });
  assert.match(textForModel(told(manual)), /it keeps failing\)\. Do not call it until a person resets it\./);
  const held = makeStop('deny', { counters: { held: 1 } });
  assert.match(textForModel(told(held)), /An operator has paused this tool\./);
  const ofModel = explain(stop, { name: 'gpt', agent: 'a', atMs: 0, isModel: true });
  assert.match(ofModel.message, /^Model 'gpt' circuit/);
  assert.match(ofModel.remediation, /^The provider keeps failing: wait/);
});

test('a question keeps its mark at the end of a sentence, and any other text gets one dot', () => {
  assert.equal(endSentence("Nobody approved 'echo': really echo?"), "Nobody approved 'echo': really echo?");
  assert.deepEqual(['too often', 'too often.', 'too often. '].map(endSentence), Array(3).fill('too often.'));
});
