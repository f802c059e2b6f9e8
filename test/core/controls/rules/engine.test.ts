import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import { createRuleEngine, parseOperatorRules, type RulesInForce } from '../../../../src/core/controls/rules/engine.ts';
import { reasonLengthMax } from '../../../../src/core/limits.ts';
import type { RuleText } from '../../../../src/core/settings.ts';

const settings = defaultSettings.ruleSettings;
const confirm: RuleText = { target: 'tool:pay', condition: 'amount>500', action: 'confirm' };
const leak: RuleText = { target: 'tool:pay', condition: 'output:note|contains:secret', action: 'abort' };
const engine = createRuleEngine(parseOperatorRules([confirm, leak]), settings);
const ids = (rules: RulesInForce['rules']) => rules.map(({ id }) => id);

test('rules of the operator are read without duplicates, and an unreadable rule makes the policy invalid', () => {
  assert.deepEqual(ids(parseOperatorRules([confirm, confirm])), ['tool:pay|amount>500|confirm']);
  assert.throws(() => parseOperatorRules([confirm, { ...confirm, action: 'explode' as 'abort' }]), {
    name: 'SwitchgearError',
    code: 'invalid_policy',
    message: 'a rule cannot be read: action must be abort, confirm or throttle, got "explode"',
  });
});

test('calls and results are matched by the rules in force', () => {
  assert.equal(engine.control.name, 'rules');
  assert.deepEqual(
    engine.matchCall('pay', 'a', [{ amount: 501 }]).map(({ rule }) => rule),
    ['tool:pay|amount>500|confirm'],
  );
  assert.deepEqual(engine.matchCall('pay', 'a', [{ amount: 500 }]), []);
  assert.equal(engine.matchResult('pay', 'a', { note: 'a secret' }).length, 1);
  assert.deepEqual(engine.matchResult('pay', 'a', { note: 'nothing' }), []);
});

test('rules of a model are added to those of the operator; rejected ones are returned with the reason', () => {
  const long = `nonsense ${'x'.repeat(reasonLengthMax)}`;
  const { engine: tightened, taken, rejected } = engine.tighten(['B: amount>100|abort', long], 'trip');
  assert.deepEqual(taken, ['trip|amount>100|abort']);
  assert.deepEqual(ids((tightened as RulesInForce).rules), [...ids(engine.rules), ...taken]);
  assert.equal((tightened as RulesInForce).rules.at(-1)?.origin, 'model');
  assert.deepEqual(
    rejected.map(({ line }) => line),
    [long.slice(0, reasonLengthMax)],
  );
  const wide = engine.tighten(['amount>100|abort'], '*');
  assert.deepEqual(wide.taken, []);
  assert.deepEqual(wide.rejected, [{ line: '*|amount>100|abort', reason: 'a model may not write rules for *' }]);
  assert.deepEqual((tightened as RulesInForce).tighten(['amount>100|abort'], 'trip').taken, []);
});

test('new rules of the operator replace the old rules of the operator and keep the rules of a model', () => {
  const { engine: before } = engine.tighten(['amount>100|abort'], 'trip');
  const next = createRuleEngine(parseOperatorRules([leak]), settings).with(before, settings) as RulesInForce;
  assert.deepEqual(ids(next.rules), ['tool:pay|output:note|contains:secret|abort', 'trip|amount>100|abort']);
  assert.deepEqual(ids((engine.with(undefined, settings) as RulesInForce).rules), ids(engine.rules));
});
