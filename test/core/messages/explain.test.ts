import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain, listCardActions } from '../../../src/core/messages/explain.ts';
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
      'the last 3 outputs are alike (similarity 0.97, threshold 0.95)',
      'window_size and similarity_jaccard_threshold of [loop] change that',
    ],
    [
      counted('tool_loop', { actual: 3, limit: 2 }),
      "'search' was proposed unchanged 3 times although it was refused (limit 2)",
      'refused_repeats of [loop] changes that',
    ],
    [
      counted('tool_loop', { name: 'search', evidence: 'same_error', times: 4, of: 4, secs: 0 }),
      "'search' returned the same error 4 times in a row",
      'failed_repeats and halt_points of [loop] change that',
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
