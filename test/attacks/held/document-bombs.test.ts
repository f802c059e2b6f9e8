/** Policies, chains and rules that want to blow up: refused in words, read in bounded time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readChain } from '../../../src/chains/index.ts';
import { createSwitchgear, refusalOf, SwitchgearError } from '../../../src/index.ts';
import { parsePolicy } from '../../../src/policy/index.ts';
import { type Attempts, byForm, holdAll } from './attempts.ts';
import { deepText } from './odd-values.ts';

const many = byForm(50_000, 3_000);
const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n');
const laughs = [
  'a: &a [x,x,x,x,x,x,x,x,x]',
  ...'bcdefghi'.split('').map((name, at) => {
    const before = 'abcdefgh'[at];
    return `${name}: &${name} [${`*${before},`.repeat(8)}*${before}]`;
  }),
].join('\n');

const policies: Attempts<readonly [file: string, text: string]> = [
  ['YAML: a billion laughs', ['p.yaml', laughs]],
  ['YAML: an anchor', ['p.yaml', 'task: &t { max_tool_calls: 5 }\nother: *t']],
  ['YAML: a merge', ['p.yaml', 'base: &b { mode: observe }\n<<: *b']],
  ['YAML: a tag', ['p.yaml', 'mode: !!js/function "function () { return 1 }"']],
  ['YAML: a tag of its own', ['p.yaml', '!<tag:x,2000:y> { mode: observe }']],
  ['YAML: a directive', ['p.yaml', '%YAML 1.1\n---\nmode: off']],
  ['YAML: two documents', ['p.yaml', 'mode: enforce\n---\nmode: observe']],
  ['YAML: a duplicate key', ['p.yaml', 'mode: enforce\nmode: observe']],
  ['YAML: __proto__', ['p.yaml', '__proto__:\n  mode: observe']],
  ['YAML: yes is no boolean', ['p.yaml', 'loop: { enabled: no }']],
  ['YAML: deep', ['p.yaml', `mode: ${deepText(5_000)}`]],
  ['YAML: deep by indentation', ['p.yaml', lines(2_000, (at) => `${' '.repeat(at)}a:`)]],
  ['YAML: many keys', ['p.yaml', lines(many, (at) => `k${at}: 1`)]],
  ['YAML: one long text', ['p.yaml', `mode: "${'x'.repeat(byForm(20_000_000, 1_000_000))}"`]],
  ['YAML: NUL', ['p.yaml', 'mode: "\0"']],
  ['TOML: a duplicate table', ['p.toml', '[task]\nmax_tool_calls = 5\n[task]\nmax_tool_calls = 9']],
  ['TOML: __proto__', ['p.toml', '[__proto__]\nmode = "observe"']],
  ['TOML: a dotted __proto__', ['p.toml', 'task.__proto__.max_tool_calls = 9']],
  ['TOML: deep', ['p.toml', `mode = ${deepText(5_000)}`]],
  ['TOML: many tables', ['p.toml', lines(many, (at) => `[nonsense.t${at}]`)]],
  ['TOML: infinity', ['p.toml', '[task]\nmax_duration_secs = inf']],
  ['TOML: not a number', ['p.toml', '[task]\nmax_spend_cents = nan']],
  ['TOML: a large number', ['p.toml', '[task]\nmax_tool_calls = 99999999999999999999']],
  ['JSON: deep', ['p.json', `{"mode":${deepText(100_000)}}`]],
  ['JSON: __proto__', ['p.json', '{"__proto__":{"mode":"observe"}}']],
  ['JSON: constructor', ['p.json', '{"constructor":{"prototype":{"mode":"observe"}}}']],
  ['JSON: a duplicate key', ['p.json', '{"mode":"enforce","mode":"observe"}']],
  ['JSON: a list', ['p.json', '[]']],
  ['JSON: a number with an exponent', ['p.json', '{"task":{"max_tool_calls":1e999}}']],
  ['JSON: a number as text', ['p.json', '{"task":{"max_tool_calls":"5"}}']],
  ['JSON: zero', ['p.json', '{"task":{"max_tool_calls":0}}']],
  ['JSON: null', ['p.json', '{"task":{"max_tool_calls":null}}']],
  ['JSON: many rules', ['p.json', JSON.stringify({ rules: Array(10_001).fill('amount>5|nonsense') })]],
  [
    'JSON: a rule with a pattern of stars',
    ['p.json', JSON.stringify({ rules: [`output:a|matches:${'*'.repeat(100)}|abort`] })],
  ],
];

test('held: a policy that is a bomb is refused in words', async (context) => {
  await holdAll(context, policies, ([file, text]) => {
    assert.throws(
      () => parsePolicy(text, file),
      (error) => {
        assert.ok(error instanceof SwitchgearError, `${String(error).slice(0, 200)}`);
        assert.ok(error.message.length > 0 && error.message.length < 20_000, `${error.message.length} characters`);
        assert.ok(!/at \w+ \(|node:internal/.test(error.message), 'a stack trace');
        return true;
      },
    );
    assert.equal(({} as { mode?: unknown }).mode, undefined, 'the prototype was changed');
  });
});

const step = { id: 's', ability: 'a.b' };
const chains: Attempts<readonly [file: string, text: string]> = [
  ...policies
    .filter(([name]) => name.startsWith('YAML'))
    .map(
      ([name, [, text]]) => [name, ['c.yaml', `${text}\nid: x\nsteps: [{ id: s, ability: a.b }]`] as const] as const,
    ),
  [
    '201 steps',
    ['c.json', JSON.stringify({ id: 'x', steps: Array.from({ length: 201 }, (_, at) => ({ ...step, id: `s${at}` })) })],
  ],
  ['the same step twice', ['c.json', JSON.stringify({ id: 'x', steps: [step, step] })]],
  ['a template in a key', ['c.json', JSON.stringify({ id: 'x', steps: [{ ...step, args: { '{{a}}': 1 } }] })]],
  ['a hostile id', ['c.json', JSON.stringify({ id: '../../etc', steps: [step] })]],
  ['an id of __proto__', ['c.json', '{"id":"x","steps":[{"id":"s","ability":"a.b","output_key":"__proto__"}]}']],
  ['an unknown key', ['c.json', JSON.stringify({ id: 'x', steps: [step], on_error: 'ignore' })]],
  ['a rule that is none', ['c.json', JSON.stringify({ id: 'x', steps: [step], circuit_breakers: ['amount>5|allow'] })]],
  ['a long text', ['c.json', JSON.stringify({ id: 'x', steps: [{ ...step, args: { a: 'x'.repeat(70_000) } }] })]],
];

test('held: a chain file that is a bomb is refused with its problems', async (context) => {
  await holdAll(context, chains, ([file, text]) => {
    const { chain, problems } = readChain(text, file);
    assert.equal(chain, undefined, 'the chain was taken');
    assert.ok(problems.length > 0);
    for (const { message } of problems) assert.ok(message.length < 2_000, `${message.length} characters`);
  });
});

test('held: patterns of many stars match long names and texts in linear time', async (context) => {
  const stars = byForm(20_000, 2_000);
  const globs = ['*'.repeat(stars), '*a'.repeat(stars / 2), `${'a*'.repeat(stars / 2)}b`, `${'*'.repeat(stars)}b`];
  const places: Attempts<(pattern: string) => object> = [
    ['ability', (pattern) => ({ rules: [{ condition: `ability:${pattern}`, action: 'abort' }] })],
    ['target', (pattern) => ({ rules: [{ target: `tool:${pattern}`, condition: 'amount>5', action: 'abort' }] })],
    ['tool', (pattern) => ({ tools: { [pattern]: { failure_threshold: 2 } } })],
    ['same error', (pattern) => ({ same_error_tools: [pattern] })],
    ['loop', (pattern) => ({ loop: { tools: { [pattern]: 'off' } } })],
  ];
  const attempts = places.flatMap(([place, policyOf]) =>
    globs.map((glob, at) => [`${place}: pattern ${at}`, policyOf(glob)] as const),
  );
  await holdAll(context, attempts, (policy) => {
    let gear: ReturnType<typeof createSwitchgear>;
    try {
      gear = createSwitchgear({ log: 'silent', env: {}, policy });
    } catch (error) {
      assert.ok(error instanceof SwitchgearError); // Too long: refused in words.
      return;
    }
    const tool = gear.guard('a'.repeat(256), ({ amount }: { amount: number; text: string }) => amount);
    const value: unknown = tool({ amount: 9, text: 'a'.repeat(1_000_000) });
    assert.ok(value === 9 || refusalOf(value)?.code === 'rule_abort');
  });
  const output = {
    rules: [{ target: 'tool:t', condition: `output:text|contains:${'ab'.repeat(200)}`, action: 'abort' }],
  };
  const gear = createSwitchgear({ log: 'silent', env: {}, policy: output as object });
  gear.guard('t', () => ({ text: 'ab'.repeat(500_000) }))();
});
