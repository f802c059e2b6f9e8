import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BreakerRegistry, type BreakerStep, type RuleInput } from '../../src/compat/nabaos.ts';
import { parseNyaya } from '../../src/core/controls/rules/nyaya.ts';
import { SwitchgearError } from '../../src/core/error.ts';

function step(more: Partial<BreakerStep> = {}): BreakerStep {
  return { chainId: 'trade', ability: 'trading.execute', outputs: {}, atMs: 0, ...more };
}

describe('the breaker registry', () => {
  it('rejects a rule that cannot be parsed, and keeps the registered rules', () => {
    const registry = new BreakerRegistry();
    registry.register('trade', 'ability:trading.execute|abort');
    const isInvalid = (error: unknown) => error instanceof SwitchgearError && error.code === 'invalid_rule';
    const bad = ['amount=5|abort', 'amount>5', 'amount>5|Abort', '', null, 7, {}, { condition: 'x', action: 'abort' }];
    for (const line of bad) assert.throws(() => registry.register('trade', line as RuleInput), isInvalid);
    for (const id of ['', 'a|b', 'tr*']) assert.throws(() => registry.register(id, 'a>1|abort'), isInvalid);
    assert.equal(registry.rules().length, 1);
    assert.equal(registry.evaluate(step()).action, 'abort');
  });

  it('accepts a rule as a line, as an entry of a chain file, and as parsed from a block', () => {
    const registry = new BreakerRegistry();
    const [fromBlock] = parseNyaya('<nyaya>\nB:a>1|abort|"block"\n</nyaya>').rules;
    assert.ok(fromBlock);
    registry.register('trade', fromBlock);
    registry.register('trade', { condition: 'b>1', action: 'abort', reason: 'file' });
    registry.register('trade', 'c>1|abort|"line"');
    assert.equal(registry.evaluate(step()).reason, 'block; file; line');
    assert.deepEqual(registry.evaluate(step({ chainId: 'other' })).fired, []);
  });

  it('replaces a rule that is registered twice', () => {
    const registry = new BreakerRegistry();
    registry.register('trade', 'amount>5|abort|"old"');
    registry.register('trade', 'amount > 5|abort|"new"');
    assert.deepEqual(registry.evaluate(step()).reasons, ['new']);
  });

  it('rejects a global rule from a model, and keeps the rule of the operator if a model repeats that rule', () => {
    const registry = new BreakerRegistry();
    const [fromModel] = parseNyaya('<nyaya>B:a>1|abort|"model"</nyaya>').rules;
    assert.ok(fromModel);
    assert.throws(() => registry.registerGlobal(fromModel), { code: 'rule_rejected' });
    registry.register('trade', 'a>1|abort|"operator"');
    assert.equal(registry.register('trade', fromModel).reason, 'operator');
    assert.equal(registry.evaluate(step()).reason, 'operator');
  });

  it('returns every rule that fired, confirm before throttle, with the longest throttle', () => {
    const registry = new BreakerRegistry({ minIntervalSecs: 5 });
    registry.register('trade', 'ability:trading.*|throttle');
    registry.register('trade', 'frequency>1/1m|throttle');
    registry.register('trade', 'ability:trading.execute|confirm|"sure?"');
    registry.recordExecution('trade', 0);
    registry.recordExecution('trade', 10_000);
    const evaluation = registry.evaluate(step({ atMs: 20_000 }));
    assert.equal(evaluation.fired.length, 3);
    assert.equal(evaluation.action, 'confirm');
    assert.equal(evaluation.reason, 'sure?');
    assert.equal(evaluation.retryAfterMs, 50_000);
  });

  it('returns no retry time if a throttle never ends', () => {
    const registry = new BreakerRegistry();
    registry.register('trade', 'frequency>0/1m|throttle');
    registry.recordExecution('trade', 0);
    assert.equal(registry.evaluate(step()).action, 'throttle');
    assert.equal(registry.evaluate(step()).retryAfterMs, undefined);
  });

  it('counts every recorded run if the time of a step is NaN, and rejects NaN as the time of a run', () => {
    const registry = new BreakerRegistry();
    registry.register('trade', 'frequency>1/1s|abort');
    for (const atMs of [0, 60_000]) registry.recordExecution('trade', atMs);
    assert.equal(registry.evaluate(step({ atMs: Number.NaN })).action, 'abort');
    assert.throws(() => registry.recordExecution('trade', Number.NaN), { code: 'invalid_time' });
    assert.equal(registry.executions('trade'), 2);
  });

  it('reads arguments and params if `lookup` contains them', () => {
    const registry = new BreakerRegistry({ lookup: ['outputs', 'args', 'params'] });
    registry.register('trade', 'amount>5|abort');
    assert.equal(registry.evaluate(step({ params: { amount: '6' } })).reason, 'amount 6 exceeds threshold 5');
    assert.equal(registry.evaluate(step({ args: { amount: 5 }, params: { amount: '6' } })).action, null);
  });

  it('explains the value that each rule of the chain compared', () => {
    const registry = new BreakerRegistry();
    for (const line of ['amount>500|abort', 'frequency>1/1h|throttle', 'ability:mail|abort'])
      registry.register('trade', line);
    registry.recordExecution('trade', 0);
    const rows = registry.explain(step({ outputs: { amount: '750' } }));
    assert.deepEqual(
      rows.map((row) => `${row.fired ? 'FIRE' : 'PASS'} ${row.value} of ${row.limit}`),
      ['FIRE 750 of 500', 'PASS 1 of 1/1h', 'PASS trading.execute of mail'],
    );
  });

  it('works for chains named like properties of Object.prototype', () => {
    const registry = new BreakerRegistry();
    for (const chainId of ['__proto__', 'constructor']) {
      registry.register(chainId, 'frequency>1/1h|abort');
      registry.recordExecution(chainId, 0);
      assert.equal(registry.evaluate(step({ chainId })).action, null);
      registry.recordExecution(chainId, 1);
      assert.equal(registry.evaluate(step({ chainId })).action, 'abort');
    }
  });
});
