/** A chain from code passes the checker of files. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Chain } from '../../../src/chains/file/chain.ts';
import { checkChain } from '../../../src/chains/file/check-chain.ts';
import { createChains, functionAbilities, readChain } from '../../../src/chains/index.ts';
import { SwitchgearError } from '../../../src/core/error.ts';
import { readText } from '../../harness/source.ts';

const step = { id: 's', ability: 'f', args: {}, idempotent: false };
const chain: Chain = { id: 'c', params: [], rules: [], ruleSettings: {}, steps: [step] };
const withStep = (more: object) => ({ ...chain, steps: [{ ...step, ...more }] });

function problemsOf(input: unknown): readonly string[] {
  try {
    checkChain(input);
  } catch (error) {
    assert.ok(error instanceof SwitchgearError);
    assert.equal(error.code, 'invalid_chain');
    return error.message.split('\n');
  }
  return [];
}

/** The problems of the same chain in a file. */
const fileProblems = (document: object) =>
  readChain(JSON.stringify(document), 'c.json').problems.map(({ message }) => message);

const fileStep = (more: object) => ({ id: 'c', steps: [{ id: 's', ability: 'f', args: {}, ...more }] });

test('a mistake in a chain from code has the message that it has in a file', () => {
  const rule = { condition: 'a>1', action: 'abrot' };
  const pairs: readonly (readonly [object, object])[] = [
    [
      { ...chain, ruleSettings: { onMissing: 'x' } },
      { ...fileStep({}), on_missing: 'x' },
    ],
    [
      { ...chain, ruleSettings: { lookup: ['x'] } },
      { ...fileStep({}), lookup: ['x'] },
    ],
    [
      { ...chain, ruleSettings: { onMising: 'fire' } },
      { ...fileStep({}), on_mising: 'fire' },
    ],
    [
      { ...chain, rules: [{ target: 'chain:c', ...rule }] },
      { ...fileStep({}), circuit_breakers: [rule] },
    ],
    [
      { ...chain, params: [{ name: 'n', type: 'numbr', required: true }] },
      { ...fileStep({}), params: [{ name: 'n', param_type: 'numbr', required: true }] },
    ],
    [withStep({ timeoutSecs: 0 }), fileStep({ timeout_secs: 0 })],
    [withStep({ timeoutSecs: '5' }), fileStep({ timeout_secs: '5' })],
    [withStep({ outputKey: 'a.b' }), fileStep({ output_key: 'a.b' })],
    [withStep({ idempotent: 'yes' }), fileStep({ idempotent: 'yes' })],
    [withStep({ nope: 1 }), fileStep({ nope: 1 })],
    [withStep({ args: { to: '{{' } }), fileStep({ args: { to: '{{' } })],
    [
      withStep({ condition: { refKey: 'x', op: 'euqals', value: 1 } }),
      fileStep({ condition: { ref_key: 'x', op: 'euqals', value: 1 } }),
    ],
    [withStep({ circuitBreaker: { failureThreshold: 0 } }), fileStep({ circuit_breaker: { failureThreshold: 0 } })],
    [withStep({ circuitBreaker: { failureTreshold: 3 } }), fileStep({ circuit_breaker: { failureTreshold: 3 } })],
    [
      { ...chain, steps: [] },
      { id: 'c', steps: [] },
    ],
    [
      { ...chain, steps: [step, step] },
      { id: 'c', steps: [...fileStep({}).steps, ...fileStep({}).steps] },
    ],
  ];
  for (const [code, file] of pairs) {
    const expected = fileProblems(file);
    assert.notEqual(expected.length, 0, JSON.stringify(file));
    assert.deepEqual(problemsOf(code), expected);
  }
});

test('a value that no file can hold is refused', () => {
  const loop: Record<string, unknown> = {};
  loop.again = loop;
  assert.match(problemsOf(withStep({ args: loop }))[0] ?? '', /is deeper than 16 levels/);
  assert.deepEqual(problemsOf(withStep({ args: { at: new Date(0) } })), [
    'steps[0].args.at must be a text, a number, true, false, null, a list or a table',
  ]);
  assert.deepEqual(problemsOf(withStep({ args: { at: Number.NaN } })), [
    'steps[0].args.at must be a finite number, got NaN',
  ]);
  assert.match(problemsOf(withStep({ args: { many: Array(10_001).fill(1) } }))[0] ?? '', /more than 10000 values/);
  assert.match(
    problemsOf(withStep({ args: JSON.parse('{"__proto__": 1}') }))[0] ?? '',
    /"__proto__", which is reserved/,
  );
  assert.deepEqual(problemsOf('c.yaml'), ['the chain must be an object, as loadChain returns it, got "c.yaml"']);
  const broken = Object.defineProperty({ ...chain }, 'name', { enumerable: true, get: () => assert.fail('broken') });
  assert.deepEqual(problemsOf(broken), ['the chain cannot be read']);
});

test('a field under both its names is refused, and so is a setting of rules that is a field of the chain', () => {
  assert.match(
    problemsOf(withStep({ timeoutSecs: 5, timeout_secs: 9 }))[0] ?? '',
    /steps\[0\]\.timeoutSecs is not known/,
  );
  assert.match(problemsOf({ ...chain, ruleSettings: { id: 'other' } })[0] ?? '', /^ruleSettings is not known here/);
});

test('a chain that was read from a file passes unchanged', () => {
  const all = `
id: all
name: All
description: Everything
on_missing: pending
lookup: [outputs, args, params]
params:
  - { name: many, param_type: number, default: 2 }
  - { name: dry, param_type: boolean, required: false, description: only look }
circuit_breakers:
  - 'B:amount>{{many}}|abort|"too | much"'
  - output:first.text|contains:fail|confirm
steps:
  - id: one
    ability: a.b
    args: { list: [1, '{{many}}', null], deep: { er: true } }
    output_key: first
    timeout_secs: 2.5
    idempotent: true
    circuit_breaker: { failure_threshold: 2, max_concurrent: none }
  - id: two
    ability: c
    condition: { ref_key: first.text, op: '==', value: '{{many}}' }
`;
  for (const text of [all, readText('test/fixtures/seed-chain.yaml')]) {
    const { chain: read, problems } = readChain(text);
    assert.deepEqual(problems, []);
    assert.deepEqual(checkChain(read), read);
  }
});

test('chains.run refuses a chain with a mistyped setting before a step runs', async () => {
  let ran = 0;
  const abilities = [functionAbilities({ f: () => ++ran })];
  const chains = createChains({ log: 'silent', env: {}, abilities });
  const rules = [{ target: 'chain:c', condition: 'amount>5', action: 'abort' }] as const;
  for (const bad of [{ ...chain, rules, ruleSettings: { onMissing: 'x' } }, withStep({ timeoutSecs: 0 })])
    await assert.rejects(chains.run(bad as unknown as Chain), { code: 'invalid_chain' });
  assert.equal(ran, 0);
  assert.equal((await chains.run(chain)).status, 'done');
  await chains.close();
});
