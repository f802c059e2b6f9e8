import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { main } from '../../../src/cli/main.ts';

const files: Readonly<Record<string, string>> = {
  'rules.txt':
    '# for trades\n\nB:amount>1000|abort|"Too much"\nfrequency>5/1h|throttle\nB:ability:pay*|confirm|"Sure?"\n',
  'bad.txt': 'amount>1000|abort\nfoo|bar\namount>x|abort\n',
  'twice.txt': 'a>1|abort|"one"\na>1|abort|"two"\n',
  'plan.md': 'Here is my plan.\n<nyaya>\nD:trading|medium\nG:ability:pay\nB:amount>1000|abort|"Too much"\n</nyaya>\n',
  'open.md': '<nyaya>\nB:amount>1000|abort\n',
  'switchgear.toml': '[[rules]]\ntarget = "tool:pay"\ncondition = "amount>500"\naction = "confirm"\n',
  'bad.toml': '[[rules]]\ncondition = "amount"\naction = "confirm"\n',
  'chain.yaml':
    'id: c\nparams: [{ name: max, param_type: number }]\ncircuit_breakers: ["amount>{{max}}|abort"]\n' +
    'on_missing: pending\n' +
    'steps:\n  - { id: s, ability: pay, output_key: amount }\n',
  'bad.yaml': 'id: c\ncircuit_breakers: [5]\nsteps: []\n',
};

async function run(context: TestContext, ...args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-rules-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const out: string[] = [];
  const err: string[] = [];
  const code = await main(['rules', ...args], {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    cwd: folder,
    env: {},
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

test('rules lint accepts rule lines, a rules block from a model, a policy and a chain', async (context) => {
  for (const [file, expected] of [
    ['rules.txt', '(lines, 3 rules)'],
    ['plan.md', '(nyaya block, 1 rule)'],
    ['switchgear.toml', '(policy, 1 rule)'],
    ['chain.yaml', '(chain, 1 rule)'],
  ] as const) {
    assert.deepEqual(await run(context, 'lint', file), { code: 0, out: `OK: ${file} ${expected}`, err: '' });
  }
});

test('rules lint reports every problem with its position, and fails', async (context) => {
  const bad = await run(context, 'lint', 'bad.txt');
  assert.equal(bad.code, 1);
  assert.match(bad.out, /^bad\.txt:2:1: condition must be .*\nbad\.txt:3:1: threshold must be a number, got "x"$/);
  assert.match((await run(context, 'lint', 'open.md')).out, /^open\.md: a <nyaya> block is not closed$/);
  assert.match(
    (await run(context, 'lint', 'bad.toml')).out,
    /^rules\[0\] is not a valid rule: condition must be .* \(bad\.toml, line 1\)$/,
  );
  assert.match((await run(context, 'lint', 'bad.yaml')).out, /^bad\.yaml:2:20: .*\nbad\.yaml:3:1: steps must have/);
  for (const file of ['bad.txt', 'open.md', 'bad.toml', 'bad.yaml'])
    assert.equal((await run(context, 'lint', file)).code, 1);
});

test('rules lint warns about a duplicate rule', async (context) => {
  const { code, out } = await run(context, 'lint', 'twice.txt');
  assert.equal(code, 0);
  assert.match(
    out,
    /^warning: twice\.txt: \*\|a>1\|abort stands twice: the later reason holds\nOK: twice\.txt \(.*2 rules\)/,
  );
});

test('rules lint --json prints the problems as JSON', async (context) => {
  const { out } = await run(context, 'lint', 'bad.txt', '--json');
  const { kind, problems, warnings } = JSON.parse(out) as Record<string, unknown[]>;
  assert.deepEqual([kind, problems?.length, warnings], ['lines', 2, []]);
});

test('rules explain shows the result of every rule for a call, with value and limit', async (context) => {
  const { code, out } = await run(context, 'explain', 'rules.txt', '--tool', 'pay.now', '--args', '{"amount":750}');
  assert.equal(code, 0);
  assert.deepEqual(
    out.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' · ')),
    [
      'rule · value · limit · target',
      'passed · amount>1000|abort · 750 · 1000 · *',
      'FIRED · ability:pay*|confirm · pay.now · pay* · *',
      'not counted here: frequency>5/1h|throttle',
      '2 rules evaluated, 1 fired: confirm; Sure?',
    ],
  );
});

test('rules explain --json prints the table as JSON', async (context) => {
  const { out } = await run(
    context,
    'explain',
    'switchgear.toml',
    '--tool',
    'pay',
    '--args={"amount":"501"}',
    '--json',
  );
  assert.deepEqual(JSON.parse(out), {
    file: 'switchgear.toml',
    tool: 'pay',
    verdict: 'confirm',
    fired: 1,
    rules: [{ rule: 'tool:pay|amount>500|confirm', action: 'confirm', fired: true, value: '501', limit: '500' }],
  });
});

test('rules explain with outputs judges a step: a missing key fires, chain parameters apply', async (context) => {
  const step = await run(context, 'explain', 'rules.txt', '--tool', 'x', '--outputs', '{}');
  assert.match(step.out, /FIRED +amount>1000\|abort +missing +1000/);
  const call = await run(context, 'explain', 'rules.txt', '--tool', 'x');
  assert.match(call.out, /passed +amount>1000\|abort +missing +1000/);
  const plan = await run(context, 'explain', 'plan.md', '--tool', 'x');
  assert.match(plan.out, /FIRED +amount>1000\|abort +missing +1000 +chain:plan/);
  const chain = await run(
    context,
    'explain',
    'chain.yaml',
    '--tool',
    'pay',
    '--params',
    '{"max":5}',
    '--outputs',
    '{"amount":6}',
  );
  assert.match(chain.out, /FIRED +amount>5\|abort +6 +5 +chain:c/);
  assert.match(
    (await run(context, 'explain', 'chain.yaml', '--tool', 'pay', '--params', '{"max":5}')).out,
    /passed +amount>5\|abort +missing/,
  );
});

test('the rules command names a missing argument', async (context) => {
  for (const [args, expected] of [
    [[], /expected 'lint' or 'explain', got nothing/],
    [['look'], /expected 'lint' or 'explain', got 'look'/],
    [['lint'], /missing argument FILE/],
    [['explain', 'rules.txt'], /--tool NAME/],
    [['explain', 'rules.txt', '--tool', 'x', '--args', '[1]'], /--args must be a JSON object/],
    [['explain', 'rules.txt', '--tool', 'x', '--args', '{'], /--args must be a JSON object/],
  ] as const) {
    const { code, err } = await run(context, ...args);
    assert.equal(code, 2);
    assert.match(err, expected);
  }
  for (const [args, expected] of [
    [['lint', 'nowhere.txt'], /cannot read nowhere\.txt/],
    [['explain', 'chain.yaml', '--tool', 'pay'], /max is required: give it a number/],
    [['explain', 'bad.txt', '--tool', 'pay'], /bad\.txt:2:1/],
  ] as const) {
    const { code, err } = await run(context, ...args);
    assert.equal(code, 1);
    assert.match(err, expected);
  }
});
