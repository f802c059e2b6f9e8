import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRule, type Rule, type RuleOrigin } from '../../../../src/core/controls/rules/rule.ts';
import { addRules, createRuleSet } from '../../../../src/core/controls/rules/rule-set.ts';
import { rulesMax } from '../../../../src/core/limits.ts';

function rule(text: string, target = 'chain:trade', origin: RuleOrigin = 'operator'): Rule {
  const parsed = parseRule(text, { target, origin });
  assert.ok(parsed.rule, parsed.error);
  return parsed.rule;
}

describe('the rules in force', () => {
  it('replace a rule with the same target, condition and action without changing the order', () => {
    const { rules } = createRuleSet([rule('a>1|abort|"old"'), rule('b>1|abort'), rule('a > 1.0|abort|"new"')]);
    assert.deepEqual(
      rules.map((one) => [one.id, one.reason]),
      [
        ['chain:trade|a>1|abort', 'new'],
        ['chain:trade|b>1|abort', undefined],
      ],
    );
  });

  it('keep the rule of the operator when a model writes the same rule', () => {
    const operator = rule('a>1|abort|"mine"');
    const { rules, rejected } = addRules([operator], [rule('a>1|abort|"yours"', 'chain:trade', 'model')]);
    assert.deepEqual(rules, [operator]);
    assert.match(rejected[0]?.reason ?? '', /operator has this rule/);
    assert.deepEqual(addRules([rule('a>1|abort|"yours"', 'chain:trade', 'model')], [operator]).rules, [operator]);
  });

  it('keep both rules when a model writes a weaker or stricter action', () => {
    const { rules, rejected } = addRules(
      [rule('a>1|confirm')],
      [rule('a>1|throttle', 'chain:trade', 'model'), rule('a>1|abort', 'chain:trade', 'model')],
    );
    assert.equal(rules.length, 3);
    assert.equal(rejected.length, 0);
  });

  it('accept rules of a model only for one chain or one agent', () => {
    for (const target of ['*', 'tool:mail', 'tool:*', 'mail.*', 'agent:*']) {
      const { rules, rejected } = createRuleSet([rule('a>1|abort', target, 'model')]);
      assert.equal(rules.length, 0, target);
      assert.match(rejected[0]?.reason ?? '', /a model may not write rules for/);
      assert.equal(createRuleSet([rule('a>1|abort', target)]).rules.length, 1);
    }
    for (const target of ['trade', 'chain:trade', 'agent:Researcher']) {
      assert.equal(createRuleSet([rule('a>1|abort', target, 'model')]).rules.length, 1, target);
    }
  });

  it('are limited in number, and a rule in force can still be replaced at the limit', () => {
    const full = Array.from({ length: rulesMax }, (_, i) => rule(`k${i}>1|abort`));
    const { rules, rejected } = addRules(full, [rule('more>1|abort'), rule('k0>1|abort|"again"')]);
    assert.equal(rules.length, rulesMax);
    assert.equal(rules[0]?.reason, 'again');
    assert.equal(rejected.length, 1);
  });
});
