import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  explainRules,
  matchCall,
  matchResult,
  matchStep,
  type StepFacts,
} from '../../../../src/core/controls/rules/evaluate.ts';
import { parseRule, type Rule } from '../../../../src/core/controls/rules/rule.ts';
import { isMatch } from '../../../../src/core/glob.ts';
import { parsedTextMax } from '../../../../src/core/limits.ts';
import type { RuleSettings } from '../../../../src/core/settings.ts';

const settings: RuleSettings = {
  onMissing: 'fire',
  lookup: ['outputs'],
  throttle: 'skip',
  maxDelaySecs: 10,
  minIntervalSecs: 60,
};

function rule(text: string, target = '*'): Rule {
  const parsed = parseRule(text, { target });
  assert.ok(parsed.rule, parsed.error);
  return parsed.rule;
}

function step(more: Partial<StepFacts>): StepFacts {
  return { chain: 'trade', ability: 'trading.execute', outputs: {}, ...more };
}

/** What is seen by one rule, or undefined where it does not fire. */
function onStep(
  text: string,
  more: Partial<StepFacts>,
  over: Partial<RuleSettings> = {},
  target = '*',
): string | undefined {
  return matchStep([rule(text, target)], step(more), { ...settings, ...over })[0]?.seen;
}

function onCall(text: string, target: string, args: unknown, over: Partial<RuleSettings> = {}): string | undefined {
  return matchCall([rule(text, target)], { tool: 'pay', agent: 'A', args }, { ...settings, ...over })[0]?.seen;
}

function onResult(text: string, target: string, result: unknown): string | undefined {
  return matchResult([rule(text, target)], { tool: 'pay', agent: 'A', result })[0]?.seen;
}

const throwing = {
  get amount(): number {
    throw new Error('no');
  },
};

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe('rules on a step of a chain', () => {
  it('fire on a value above the threshold, not on a value equal to the threshold', () => {
    assert.equal(onStep('amount>500|abort', { outputs: { amount: '750' } }), 'amount 750 exceeds threshold 500');
    assert.equal(onStep('amount>500|abort', { outputs: { amount: '500' } }), undefined);
    assert.equal(
      onStep('amount>500|abort', { outputs: { amount: ' +5.001e2 ' } }),
      'amount 500.1 exceeds threshold 500',
    );
  });

  for (const amount of [
    'NaN',
    '',
    ' ',
    '0x10',
    '750abc',
    'Infinity',
    '-Infinity',
    '1e999',
    '1_000',
    '1,000',
    '١٢',
    'null',
  ]) {
    it(`fire on the text ${JSON.stringify(amount)}, which is not a number`, () => {
      assert.equal(onStep('amount>500|abort', { outputs: { amount } }), 'amount is not a number, threshold 500');
    });
  }

  it('fire on values that are neither text nor a number', () => {
    for (const amount of [
      null,
      true,
      [],
      [750],
      {},
      Number.NaN,
      Number.POSITIVE_INFINITY,
      new Number(7),
      Symbol('7'),
    ]) {
      assert.equal(onStep('amount>500|abort', { outputs: { amount } }), 'amount is not a number, threshold 500');
    }
    assert.equal(onStep('amount>500|abort', { outputs: throwing }), 'amount cannot be read, threshold 500');
  });

  it('fire on a missing key unless on_missing is pending', () => {
    assert.equal(onStep('amount>500|abort', {}), 'amount is missing, threshold 500');
    assert.equal(onStep('amount>500|abort', {}, { onMissing: 'pending' }), undefined);
    assert.ok(onStep('amount>500|abort', { outputs: { amount: 'x' } }, { onMissing: 'pending' }));
  });

  it('read the sources that the settings name, in that order', () => {
    const more = { args: { amount: 600 }, params: { amount: 1 } };
    const seen = (lookup: RuleSettings['lookup']) => onStep('amount>500|abort', more, { lookup });
    assert.equal(seen(['outputs', 'args', 'params']), 'amount 600 exceeds threshold 500');
    assert.equal(seen(['outputs', 'params', 'args']), undefined);
    assert.equal(seen(['outputs']), 'amount is missing, threshold 500');
  });

  it('read own keys only', () => {
    for (const key of ['__proto__', 'constructor', 'toString']) {
      assert.equal(onStep(`${key}>1|abort`, {}), `${key} is missing, threshold 1`);
      assert.equal(onStep(`output:${key}|contains:o|abort`, {}), undefined);
    }
    assert.ok(onStep('__proto__>1|abort', { outputs: JSON.parse('{"__proto__":"2"}') }));
  });

  it('find a text in an output, and do not fire on a missing output', () => {
    assert.equal(onStep('output:msg|contains:fail|abort', { outputs: { msg: 'it failed' } }), 'msg contains "fail"');
    assert.equal(onStep('output:msg|contains:fail|abort', { outputs: { msg: 'it Failed' } }), undefined);
    assert.equal(onStep('output:msg|contains:fail|abort', { args: { msg: 'fail' } }, { lookup: ['args'] }), undefined);
    assert.equal(onStep('output:a|contains:1|abort', { outputs: { a: { b: [1] } } }), 'a contains "1"');
  });

  it('match abilities by name or wildcard', () => {
    assert.equal(onStep('ability:trading.execute|confirm', {}), 'ability trading.execute is about to be called');
    assert.ok(onStep('ability:trading.*|confirm', {}));
    assert.equal(onStep('ability:trading|confirm', {}), undefined);
  });

  it('apply to their target only', () => {
    const fires = (target: string) => onStep('a>1|abort', { agent: 'A' }, {}, target) !== undefined;
    for (const target of ['*', 'trade', 'chain:trade', 'tool:trading.*', 'agent:A']) assert.ok(fires(target), target);
    for (const target of ['other', 'chain:other', 'tool:mail.*', 'agent:B', 'trading.execute'])
      assert.ok(!fires(target), target);
  });
});

describe('rules on a single call', () => {
  it('are all reported in order', () => {
    const rules = ['amount>1|abort', 'amount>9|abort', 'ability:pay|confirm'].map((text) => rule(text));
    const told = matchCall(rules, { tool: 'pay', agent: 'A', args: { amount: 5 } }, settings);
    assert.deepEqual(told, [
      { rule: rules[0]!.id, seen: 'amount 5 exceeds threshold 1' },
      { rule: rules[2]!.id, seen: 'ability pay is about to be called' },
    ]);
  });

  it('report a missing key only if no argument contains the key', () => {
    assert.equal(onCall('amount>5|abort', 'pay', [{ other: 1 }, { amount: 1 }]), undefined);
    assert.equal(onCall('amount>5|abort', 'pay', [{ other: 1 }, { more: 1 }]), 'amount is missing, threshold 5');
  });

  it('read every argument that is an object, also by path', () => {
    assert.equal(onCall('amount>5|abort', '*', [{ amount: 6 }]), 'amount 6 exceeds threshold 5');
    assert.equal(onCall('amount>5|abort', '*', { amount: '6' }), 'amount 6 exceeds threshold 5');
    assert.equal(onCall('amount>5|abort', '*', ['x', { amount: 1 }, { amount: 7n }]), 'amount 7 exceeds threshold 5');
    assert.equal(onCall('order.amount>5|abort', '*', [{ order: { amount: 6 } }]), 'order.amount 6 exceeds threshold 5');
    assert.equal(onCall('to.length>2|abort', '*', [{ to: ['a', 'b', 'c'] }]), 'to.length 3 exceeds threshold 2');
    assert.equal(onCall('amount>5|abort', '*', [{ amount: 5 }]), undefined);
    assert.equal(onCall('length>2|abort', '*', [['a', 'b', 'c']]), undefined, 'a list has no keys');
  });

  it('ignore calls without the key, unless the rule names the tool', () => {
    for (const args of [undefined, [], [7], [[{ amount: 9 }]], [{ other: 9 }], [{ amount: undefined }]]) {
      for (const target of ['*', 'agent:A', 'tool:*']) assert.equal(onCall('amount>5|abort', target, args), undefined);
      for (const target of ['tool:pay', 'tool:p*', 'pay']) assert.ok(onCall('amount>5|abort', target, args));
      assert.equal(onCall('amount>5|abort', 'tool:mail', args), undefined);
    }
    assert.equal(onCall('amount>5|abort', 'pay', [{}], { onMissing: 'pending' }), undefined);
  });

  it('fire for every target on a key that is present and no number', () => {
    for (const amount of [
      'lots',
      null,
      '1,000',
      '$1000',
      [1000],
      '0x3e8',
      '1000 USD',
      '1e400',
      '１０００',
      {},
      true,
      '',
    ])
      for (const target of ['*', 'agent:A', 'tool:*', 'tool:pay'])
        assert.ok(onCall('amount>5|abort', target, [{ amount }]), `${amount} ${target}`);
    assert.equal(onCall('amount>5|abort', '*', [{ amount: '4' }]), undefined);
  });

  it('fire on NaN and infinite numbers', () => {
    assert.ok(onCall('amount>5|abort', '*', [{ amount: Number.NaN }]));
    assert.ok(onCall('amount>5|abort', '*', [{ amount: Number.NEGATIVE_INFINITY }]));
  });

  it('fire on hostile arguments and never throw', () => {
    const trap = () => {
      throw new Error('trap');
    };
    const hostile = [
      throwing,
      revoked(),
      new Proxy({}, { getOwnPropertyDescriptor: trap }),
      new Proxy([], { get: trap }),
    ];
    for (const args of hostile) {
      assert.equal(onCall('amount>5|abort', '*', args), 'amount cannot be read, threshold 5');
      assert.equal(
        onCall('amount>5|abort', '*', [args]) !== undefined,
        !Array.isArray(args === hostile[1] ? {} : args),
      );
      assert.equal(onCall('amount>5|abort', 'tool:mail', args), undefined);
    }
  });

  it('match an ability against the tool, and never a chain', () => {
    assert.ok(onCall('ability:pay|abort', '*', []));
    assert.equal(onCall('ability:pay.x|abort', '*', []), undefined);
    assert.equal(onCall('ability:pay|abort', 'chain:pay', []), undefined);
  });
});

describe('rules on a result', () => {
  it('read the fields of a result, also of JSON text', () => {
    assert.equal(onResult('output:error|contains:fail|abort', '*', { error: 'it failed' }), 'error contains "fail"');
    assert.equal(onResult('output:error|contains:fail|abort', '*', ' {"error":"it failed"}'), 'error contains "fail"');
    assert.equal(onResult('output:error|contains:fail|abort', '*', { other: 'fail' }), undefined);
    assert.equal(onResult('output:error|contains:fail|abort', '*', { error: 'fine' }), undefined);
  });

  it('read the results of their target only', () => {
    for (const target of ['tool:mail', 'agent:B', 'chain:pay']) {
      assert.equal(onResult('output:error|contains:fail|abort', target, { error: 'it failed' }), undefined);
    }
    assert.equal(onResult('error>1|abort', 'pay', { error: 'undefined' }), undefined, 'it is no rule on an output');
  });

  it('read plain text as the output of a tool that the rule names, or under the key result', () => {
    assert.equal(onResult('output:error|contains:fail|abort', '*', 'it failed'), undefined);
    assert.ok(onResult('output:error|contains:fail|abort', 'pay', 'it failed'));
    assert.ok(onResult('output:error|contains:fail|abort', 'pay', '{ it failed'));
    assert.ok(onResult('output:result|contains:fail|abort', '*', 'it failed'));
    assert.equal(onResult('output:error|contains:fail|abort', 'pay', 'fine'), undefined);
  });

  it('fire on a field that cannot be read, and not on a missing field', () => {
    const circular: Record<string, unknown> = {};
    circular.amount = circular;
    assert.equal(onResult('output:amount|contains:x|abort', '*', throwing), 'amount cannot be read');
    assert.ok(onResult('output:amount|contains:x|abort', '*', circular));
    for (const result of [undefined, null, 7, {}, []])
      assert.equal(onResult('output:amount|contains:x|abort', '*', result), undefined);
  });
});

describe('the table of rules', () => {
  it('shows the value that every rule read, fired or not', () => {
    const rules = [
      'amount>500|abort',
      'n>5|abort',
      'frequency>2/1h|throttle',
      'ability:mail|confirm',
      'output:m|contains:x|abort',
    ];
    const rows = explainRules(
      [...rules.map((text) => rule(text)), rule('z>1|abort', 'other')],
      step({ outputs: { amount: '750', m: 'y' } }),
      settings,
      () => 3,
    );
    assert.deepEqual(
      rows.map(({ fired, value, limit }) => [fired, value, limit]),
      [
        [true, '750', '500'],
        [true, 'missing', '5'],
        [true, '3', '2/1h'],
        [false, 'trading.execute', 'mail'],
        [false, 'y', 'x'],
      ],
    );
  });
});

describe('a name pattern with wildcards', () => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['mail.*', 'mail.send', true],
    ['mail.*', 'mail', false],
    ['*', '', true],
    ['*.send', 'mail.send', true],
    ['a*b*c', 'a1b2c', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['a*b*b', 'ab', false],
    ['a.c', 'abc', false],
  ];
  for (const [pattern, name, fits] of rows) {
    it(`${pattern} ${fits ? 'fits' : 'does not fit'} ${name || 'nothing'}`, () =>
      assert.equal(isMatch(pattern, name), fits));
  }

  it('does not match a long name if the pattern has thousands of wildcards and another ending', () => {
    assert.equal(isMatch(`${'*a'.repeat(2_000)}b`, 'a'.repeat(50_000)), false);
  });
});

describe('the table row of a value that cannot be read', () => {
  it('shows "unreadable" instead of a value', () => {
    const outputs = { amount: 1 };
    const hidden = { ...step({ outputs }), outputs: throwing as never };
    const [threshold] = explainRules([rule('amount>5|abort')], hidden, settings);
    assert.deepEqual([threshold?.fired, threshold?.value, threshold?.limit], [true, 'unreadable', '5']);
    const [output] = explainRules([rule('output:amount|contains:x|abort')], hidden, settings);
    assert.deepEqual([output?.fired, output?.value, output?.limit], [true, 'unreadable', 'x']);
    const [missing] = explainRules([rule('output:other|contains:x|abort')], hidden, settings);
    assert.deepEqual([missing?.fired, missing?.value], [false, 'missing']);
  });
});

describe('a result that is text', () => {
  it('is read by a rule for all targets if the text is a JSON object; a longer text is searched as a whole', () => {
    const json = (length: number) => `{"note":"secret","pad":"${'x'.repeat(length - 26)}"}`;
    const fires = (result: string) => onResult('output:note|contains:secret|abort', '*', result) !== undefined;
    assert.equal(json(100).length, 100);
    assert.equal(fires(json(parsedTextMax)), true);
    assert.equal(fires(json(parsedTextMax + 1)), true);
    assert.equal(fires(`{"note":"harmless","pad":"${'x'.repeat(parsedTextMax)}"}`), false);
    assert.equal(fires('[{"note":"secret"}]'), false);
    assert.equal(fires('{"note":"secret"'), false);
  });

  it('is found in the text blocks and the structured content of an MCP result', () => {
    const fires = (result: unknown) => onResult('output:note|contains:secret|abort', '*', result) !== undefined;
    const text = '{"note":"a secret"}';
    assert.equal(
      fires({
        content: [
          { type: 'text', text: 'see' },
          { type: 'text', text },
        ],
      }),
      true,
    );
    assert.equal(fires([{ type: 'text', text }]), true);
    assert.equal(fires({ content: [{ type: 'resource', resource: { text } }] }), true);
    assert.equal(fires({ content: [], structuredContent: { note: 'a secret' } }), true);
    assert.equal(fires({ content: [{ type: 'text', text: '{"note":"fine"}' }] }), false);
    assert.equal(fires({ content: 7 }), false);
  });
});
