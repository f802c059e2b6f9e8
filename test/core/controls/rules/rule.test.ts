import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseRule, parseRuleText, printRule, type Rule, retarget } from '../../../../src/core/controls/rules/rule.ts';
import { ruleLengthMax } from '../../../../src/core/limits.ts';
import type { RuleText } from '../../../../src/core/settings.ts';

function rule(text: string, target?: string): Rule {
  const parsed = parseRule(text, target === undefined ? {} : { target });
  assert.ok(parsed.rule, parsed.error);
  return parsed.rule;
}

function error(text: string, target?: string): string {
  const parsed = parseRule(text, target === undefined ? {} : { target });
  assert.equal(parsed.rule, undefined, `${text} should not be a rule`);
  return parsed.error ?? '';
}

describe('reading a rule', () => {
  it('reads a threshold line with its reason', () => {
    assert.deepEqual(rule('B:amount>5000|abort|"Spending limit exceeded"'), {
      id: '*|amount>5000|abort',
      target: '*',
      condition: { kind: 'threshold', key: 'amount', value: 5000 },
      action: 'abort',
      reason: 'Spending limit exceeded',
      origin: 'operator',
    });
  });

  it('allows spaces around every part', () => {
    const spaced = rule('  B: amount  >  -5.5e1 | confirm |  " why "  ');
    assert.deepEqual(spaced.condition, { kind: 'threshold', key: 'amount', value: -55 });
    assert.equal(spaced.action, 'confirm');
    assert.equal(spaced.reason, 'why');
  });

  it('uses a window of one hour if no window is written', () => {
    for (const text of [
      'frequency>10',
      'frequency>10/',
      'frequency > 10 / 1h',
      'frequency>10/60m',
      'frequency>10/3600s',
    ]) {
      assert.deepEqual(
        rule(`${text}|throttle`).condition,
        { kind: 'frequency', count: 10, windowMs: 3_600_000, text: '1h' },
        text,
      );
    }
  });

  it('reads an output condition from two fields', () => {
    const output = rule('B:output:error_msg|contains:fail|abort|"a|b"');
    assert.deepEqual(output.condition, { kind: 'output', key: 'error_msg', contains: 'fail' });
    assert.equal(output.action, 'abort');
    assert.equal(output.reason, 'a|b');
    assert.equal(printRule(output), 'output:error_msg|contains:fail|abort|"a|b"');
  });

  it('keeps pipes, dollars and inner quotes of a reason', () => {
    assert.equal(rule('amount>1|abort|"over $1 | say "no" | stop"').reason, 'over $1 | say "no" | stop');
    assert.equal(rule('amount>1|abort|no quotes at all').reason, 'no quotes at all');
  });

  it('leaves the reason undefined if no reason or an empty one is written', () => {
    assert.equal(rule('amount>1|abort').reason, undefined);
    assert.equal(rule('amount>1|abort|""').reason, undefined);
  });

  const refused: readonly (readonly [string, RegExp])[] = [
    ['', /condition\|action/],
    ['amount>500', /condition\|action/],
    ['amount>500|Abort|"x"', /abort, confirm or throttle, got "Abort"/],
    ['amount>500|stop', /got "stop"/],
    [
      'amount>=500|abort',
      /^only > compares, and >= is not supported, got "amount>=500": write "amount>499", or "amount>499\.99" for/,
    ],
    ['amount >= 2.5|abort', /only > compares, and >= is not supported, got "amount >= 2\.5"$/],
    ['amount<500|abort', /only > compares, and < is not supported/],
    ['amount==500|abort', /only > compares, and == is not supported/],
    ['amount=500|abort', /only > compares, and = is not supported/],
    ['>500|abort', /needs a key/],
    ['amount>|abort', /must be a number, got ""/],
    ['amount>0x10|abort', /must be a number/],
    ['amount>NaN|abort', /must be a number/],
    ['amount>Infinity|abort', /must be a number/],
    ['amount>1e999|abort', /must be a number/],
    ['amount>750abc|abort', /must be a number/],
    ['amount>{{max_spend}}|abort', /must be a number/],
    ['frequency>-1/1h|throttle', /whole number from 0/],
    ['frequency>1.5/1h|throttle', /whole number/],
    ['frequency>4294967296/1h|throttle', /whole number/],
    ['frequency>10000/1h|throttle', /whole number from 0 to 9999/],
    ['frequency>10/1w|throttle', /s, m, h or d, .*got "1w"/],
    ['frequency>10/1µ|throttle', /got "1µ"/],
    ['frequency>10/5分|throttle', /got "5分"/],
    ['frequency>10/0s|throttle', /from 1s/],
    ['frequency>10/h|throttle', /got "h"/],
    ['frequency>10/99999999999d|throttle', /ten years/],
    ['frequency>10/99999999999999999999d|throttle', /ten years/],
    ['ability:|abort', /one name/],
    ['ability:a b|abort', /one name/],
    ['output:k|abort|"no contains"', /contains:/],
    ['output:k|contains:|abort', /contains:/],
    ['output:|contains:x|abort', /needs a key/],
    ['output:k', /condition\|action/],
  ];
  for (const [text, message] of refused) it(`refuses ${text || 'nothing'}`, () => assert.match(error(text), message));

  it('refuses a line that is too long, and a value that is not text', () => {
    assert.match(error(`amount>1|abort|"${'x'.repeat(ruleLengthMax)}"`), /at most 4096 characters/);
    assert.match(error(undefined as unknown as string), /must be text/);
  });

  it('reads targets in one spelling and refuses invalid targets', () => {
    const targets = {
      '*': '*',
      trade: 'trade',
      'chain: trade': 'chain:trade',
      'mail.*': 'tool:mail.*',
      'agent:A B': 'agent:A B',
    };
    for (const [written, target] of Object.entries(targets)) assert.equal(rule('a>1|abort', written).target, target);
    for (const bad of ['', ' ', 'tols:mail', 'chain:', 'chain:a*', 'a|b', 'tool:', 'x'.repeat(1000)]) {
      assert.match(error('a>1|abort', bad), /target must be/, bad);
    }
  });

  it('reads the form of a chain file, and refuses fields that are not text', () => {
    const { rule: read } = parseRuleText(
      { target: 'x', condition: 'output:k|contains:no', action: 'confirm', reason: 'Why' },
      'model',
    );
    assert.equal(read?.id, 'x|output:k|contains:no|confirm');
    assert.equal(read?.origin, 'model');
    const bad = [null, {}, { condition: 5, action: 'abort' }, { condition: 'a>1', action: 1 }];
    for (const text of [
      ...bad,
      { condition: 'a>1', action: 'abort', reason: 7 },
      { condition: 'output:k|contains:a|b', action: 'abort' },
    ]) {
      assert.ok(parseRuleText(text as unknown as RuleText).error);
    }
  });
});

describe('printing a rule', () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });
  const condition = fc.oneof(
    fc.tuple(word, fc.double()).map(([key, value]) => `${key}>${value}`),
    fc
      .tuple(fc.nat(12_000), fc.nat(5_000), fc.constantFrom('s', 'm', 'h', 'd'))
      .map(([n, w, u]) => `frequency>${n}/${w}${u}`),
    word.map((pattern) => `ability:${pattern}`),
    fc.tuple(word, word, fc.boolean()).map(([k, p, q]) => `output:${k}|contains:${q ? `"${p}"` : p}`),
  );
  const action = fc.constantFrom('abort', 'confirm', 'throttle');
  const reason = fc.option(fc.string({ unit: 'grapheme', maxLength: 300 }), { nil: undefined });

  it('prints text that parses to the same rule, for every kind of condition', () => {
    const reached = new Set<string>();
    fc.assert(
      fc.property(condition, action, reason, (condition, action, reason) => {
        const first = parseRuleText({
          target: 'trade',
          condition,
          action,
          ...(reason === undefined ? {} : { reason }),
        });
        if (!first.rule) return;
        reached.add(first.rule.condition.kind);
        assert.deepStrictEqual(parseRule(printRule(first.rule), { target: 'trade' }).rule, first.rule);
      }),
      { seed: 7, numRuns: 2_000 },
    );
    assert.equal(reached.size, 4);
  });

  it('prints quotes, spaces and negative zero so that the text parses to the same rule', () => {
    for (const condition of [
      'output:k|contains:"" fail ""',
      "output:k|contains:''x''",
      'a>-0',
      'output:k|contains:" "',
    ]) {
      const first = parseRuleText({ target: '*', condition, action: 'abort', reason: `${'x'.repeat(199)} y` });
      assert.ok(first.rule, first.error);
      assert.deepStrictEqual(parseRule(printRule(first.rule)).rule, first.rule);
    }
    assert.match(parseRuleText({ target: '*', condition: 'B:a>1', action: 'abort' }).error ?? '', /needs a key/);
  });

  it('parsing never throws on any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const parsed = parseRule(text, { target: text });
        assert.ok(parsed.rule !== undefined || parsed.error !== '');
      }),
      { seed: 7, numRuns: 1_000 },
    );
  });

  it('derives the id from target, condition and action alone', () => {
    assert.equal(rule('frequency>10/60m|throttle|"a"').id, rule('B:frequency>10|throttle|"b"').id);
    assert.notEqual(rule('a>1|abort').id, rule('a>1|confirm').id);
    assert.equal(retarget(rule('a>1|abort'), 'chain:x').id, 'chain:x|a>1|abort');
  });
});

describe('the limits of a rule', () => {
  it('an error names the missing part', () => {
    assert.match(error('|abort'), /^condition must be/);
    assert.match(error('abort'), /^rule must be condition\|action/);
    assert.match(error('output:x|contains:y'), /^rule must be condition\|action/);
    assert.match(error('output:x||abort'), /^output needs contains: .*got ""$/);
    assert.equal(error('a>1||why'), 'action must be abort, confirm or throttle, got ""');
  });

  it('condition and reason together may have the maximum length and no more', () => {
    const text = (reason: number): RuleText => {
      return { target: '*', condition: 'a>1', action: 'abort', reason: 'x'.repeat(reason) };
    };
    assert.ok(parseRule(`a>1|abort|${'x'.repeat(ruleLengthMax - 10)}`).rule);
    assert.match(error(`a>1|abort|${'x'.repeat(ruleLengthMax - 9)}`), /at most/);
    assert.ok(parseRuleText(text(ruleLengthMax - 3)).rule);
    assert.match(parseRuleText(text(ruleLengthMax - 2)).error ?? '', /at most/);
    const bare = (length: number): RuleText => ({
      target: '*',
      condition: `${'k'.repeat(length - 2)}>1`,
      action: 'abort',
    });
    assert.ok(parseRuleText(bare(ruleLengthMax)).rule);
    assert.match(parseRuleText(bare(ruleLengthMax + 1)).error ?? '', /at most/);
  });
});
