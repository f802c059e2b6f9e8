import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codes } from '../../src/core/controls/registry.ts';
import { allow, haltOverLimit, stricter, type Verdict } from '../../src/core/verdict.ts';
import { makeStop } from '../harness/control-story.ts';

const ladder: readonly Verdict[] = [allow, makeStop('wait'), makeStop('ask'), makeStop('deny'), makeStop('halt')];

test('the stricter of two verdicts wins, in either order', () => {
  for (const [at, milder] of ladder.entries()) {
    for (const harder of ladder.slice(at + 1)) {
      assert.equal(stricter(milder, harder), harder);
      assert.equal(stricter(harder, milder), harder);
    }
  }
});

test('of two equally strict verdicts the first wins, with the later retry time', () => {
  const first = makeStop('deny', { control: 'first' });
  const second = makeStop('deny', { control: 'second' });
  assert.equal(stricter(first, second), first);
  assert.deepEqual(stricter(first, { ...second, retryAtMs: 5 }), { ...first, retryAtMs: 5 });
  assert.deepEqual(stricter({ ...first, retryAtMs: 4 }, { ...second, retryAtMs: 5 }), { ...first, retryAtMs: 5 });
  const later = { ...first, retryAtMs: 6 };
  assert.equal(stricter(later, { ...second, retryAtMs: 5 }), later);
  assert.equal(stricter(later, { ...second, retryAtMs: 6 }), later);
  assert.equal(stricter(later, second), later);
  assert.equal('retryAtMs' in stricter(first, second), false);
});

test('a count over its limit halts the task, and the verdict contains count and limit', () => {
  const counters = { actual: 6, limit: 5 };
  assert.deepEqual(haltOverLimit('budget', 'token_limit', 6, 5), {
    kind: 'halt',
    code: 'token_limit',
    control: 'budget',
    counters,
  });
});

test('a verdict of an unknown kind does not become an allow', () => {
  const odd = { ...makeStop('deny'), kind: 'block' } as unknown as Verdict;
  assert.equal(stricter(allow, odd), odd);
  assert.equal(stricter(odd, allow), odd);
});

test('the codes of refusals are the published ones', () => {
  assert.equal(
    codes.join(' '),
    'circuit_open concurrency_limit tool_call_limit tree_call_limit token_spend_limit token_limit ' +
      'model_call_limit tool_limit duration_limit idle_timeout ' +
      'output_loop tool_loop denial_limit delegation_limit rule_abort rule_declined rule_unanswered rule_throttled ' +
      'storm task_paused operator_halt cancelled internal_error tool_not_allowed tool_changed ' +
      'unpriced_path model_not_allowed rate_limit',
  );
});
