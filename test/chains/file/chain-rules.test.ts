import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ParamValues } from '../../../src/chains/file/chain.ts';
import { chainRules, checkRuleText, parseConditionTemplate } from '../../../src/chains/file/chain-rules.ts';
import { parseRuleText } from '../../../src/core/controls/rules/rule.ts';
import type { RuleText } from '../../../src/core/settings.ts';

const target = 'chain:c';
const chainWith = (condition: string, action: RuleText['action'] = 'abort', reason?: string) => ({
  id: 'c',
  rules: [{ target, condition, action, ...(reason !== undefined && { reason }) }],
});
const filled = (condition: string, params: ParamValues) => chainRules(chainWith(condition), params)[0]?.condition;
const refused = (condition: string, params: ParamValues, message = /^circuit_breakers\[0\] cannot be filled in: /) =>
  assert.throws(() => chainRules(chainWith(condition), params), { code: 'invalid_params', message });

test('a parameter fills any piece of a condition', () => {
  assert.equal(filled('amount>{{max}}', { max: 500 }), 'amount>500');
  assert.equal(filled(' amount > {{ max }} ', { max: '1e3' }), 'amount>1000');
  assert.equal(filled('{{key}}>5', { key: 'total' }), 'total>5');
  assert.equal(filled('frequency>{{n}}/{{w}}', { n: 3, w: '1d' }), 'frequency>3/1d');
  assert.equal(filled('frequency>{{n}}', { n: '3' }), 'frequency>3/1h');
  assert.equal(filled('frequency>1{{n}}/{{n}}m', { n: 5 }), 'frequency>15/5m');
  assert.equal(filled('ability:{{server}}.*', { server: 'mail' }), 'ability:mail.*');
  assert.equal(
    filled('output:{{k}}|contains:{{t}}', { k: 'err', t: 'not found: /x' }),
    'output:err|contains:not found: /x',
  );
});

test('the reason of a rule is filled, shortened to its limit, and put on one line', () => {
  const [rule] = chainRules(chainWith('a>1', 'abort', 'at most {{max}} | "{{max}}"'), { max: 500 });
  assert.equal(rule?.reason, 'at most 500 | "500"');
  const [long] = chainRules(chainWith('a>1', 'abort', 'so: {{text}}'), { text: 'x\ny'.repeat(30_000) });
  assert.equal(parseRuleText(long!).rule?.reason?.includes('\n'), false);
  assert.ok((long?.reason?.length ?? 0) <= 200);
});

test('a parameter that would change the form of a condition refuses the run', () => {
  refused('amount>{{x}}', { x: '5|throttle' });
  refused('amount>{{x}}', { x: 'lots' }, /threshold must be a number/);
  refused('amount>{{x}}', { x: '' });
  refused('amount>{{x}}', { x: 'Infinity' });
  refused('{{x}}>5', { x: 'frequency' }, /change the form of the condition/);
  refused('{{x}}>5', { x: 'frequency>9/1s' });
  refused('{{x}}>5', { x: 'a>1' });
  refused('{{x}}>5', { x: 'ability:z' });
  refused('{{x}}>5', { x: 'output:z' });
  refused('frequency>{{x}}', { x: '9/1s' }, /change the form of the condition/);
  refused('frequency>1/{{x}}', { x: '1/1s' });
  refused('frequency>1/{{x}}', { x: ' ' });
  refused('ability:{{x}}', { x: 'a|confirm' });
  refused('ability:{{x}}', { x: 'a b' });
  refused('output:{{x}}|contains:y', { x: 'k|contains:z' });
  refused('output:k|contains:{{x}}', { x: 'a"b' });
  refused('output:k|contains:{{x}}', { x: 'a\nb' });
});

test('the rules of a chain file apply to that chain only, whatever target they have', () => {
  const [rule] = chainRules({ id: 'mine', rules: [{ target: '*', condition: 'a>1', action: 'abort' }] }, {});
  assert.equal(rule?.target, 'chain:mine');
});

test('a missing parameter in a rule refuses the run', () => {
  refused('amount>{{max}}', {});
  refused('amount>{{constructor}}', {});
  assert.throws(() => chainRules(chainWith('a>1', 'abort', '{{max}}'), {}), { code: 'invalid_params', message: /max/ });
});

test('no value of a parameter changes the action, the kind or the fixed pieces of a rule', () => {
  const conditions = [
    'amount>{{x}}',
    '{{x}}>5',
    'frequency>{{x}}',
    'frequency>3/{{x}}',
    'frequency>{{x}}/1h',
    'ability:{{x}}',
    'ability:a.{{x}}',
    'output:{{x}}|contains:y',
    'output:k|contains:{{x}}',
    'output:k|contains:a {{x}}',
  ];
  const nasty = fc.oneof(
    fc.string(),
    fc
      .array(
        fc.constantFrom(
          '|',
          '"',
          "'",
          '>',
          '/',
          ':',
          '{{x}}',
          '{{',
          '}}',
          '\n',
          ' ',
          'abort',
          'confirm',
          'throttle',
          'frequency',
          'ability:',
          'output:',
          'contains:',
          '5',
          '1h',
          'a',
          '*',
          'B:',
          '-',
          '.',
          'e9',
        ),
      )
      .map((parts) => parts.join('')),
    fc.double(),
    fc.boolean(),
  );
  let read = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...conditions),
      fc.constantFrom('abort' as const, 'confirm' as const, 'throttle' as const),
      nasty,
      (condition, action, x) => {
        let rules: ReturnType<typeof chainRules>;
        try {
          rules = chainRules(chainWith(condition, action, 'because {{x}}'), { x });
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'invalid_params');
          return;
        }
        read++;
        assert.equal(rules.length, 1);
        const { rule } = parseRuleText(rules[0]!);
        assert.equal(rule?.action, action);
        assert.equal(rule.target, target);
        assert.equal(rule.condition.kind, parseConditionTemplate(condition)?.kind);
        const fixed = parseConditionTemplate(condition)?.parts.filter((part) => !part.includes('{{')) ?? [];
        const said = parseConditionTemplate(rules[0]!.condition)?.parts ?? [];
        for (const part of fixed)
          assert.ok(said.includes(part), `${condition} with ${JSON.stringify(x)} is ${rules[0]!.condition}`);
        if (condition.startsWith('amount>'))
          assert.ok(rule.condition.kind === 'threshold' && rule.condition.key === 'amount');
      },
    ),
    { numRuns: 20_000 },
  );
  assert.ok(read > 1_000, `only ${read} values fitted`);
});

test('a rule that is invalid for every parameter is a problem of the chain file', () => {
  for (const [condition, action, message] of [
    ['amount', 'abort', /condition must be key>value/],
    ['amount>abc', 'abort', /must be a number, got "abc"/],
    ['{{x', 'abort', /without \}\}/],
    ['amount>{{}}', 'abort', /empty/],
    ['amount>{{a}}x', 'abort', /must be a number/],
    ['frequency>{{n}}/{{w}}q', 'abort', /window/],
    ['output:{{k}}', 'abort', /contains/],
    ['ability:a b', 'abort', /one name/],
    ['a>1', 'explode', /abort, confirm or throttle/],
  ] as const) {
    assert.match(checkRuleText({ target, condition, action: action as 'abort' }) ?? '', message, condition);
  }
  for (const condition of [
    'amount>{{x}}',
    'frequency>{{x}}/{{y}}',
    'frequency>{{x}}/2{{y}}h',
    'ability:{{x}}',
    'output:{{x}}|contains:{{y}}',
  ])
    assert.equal(checkRuleText({ target, condition, action: 'abort' }), undefined, condition);
});
