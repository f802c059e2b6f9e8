import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { listFiles, readText, root } from './harness/source.ts';
import { faults } from './simulation/faults.ts';
import { simulate } from './simulation/world.ts';

const seeds = 100;

test(`${seeds} simulated runs agree with the reference model`, async () => {
  const reached = new Set<string>();
  for (let seed = 1; seed <= seeds; seed++) {
    const run = await simulate(seed);
    assert.equal(run.violation, undefined);
    for (const code of run.reached) reached.add(code);
  }
  // A run that never refuses would agree with anything.
  const wanted = [
    'circuit_open',
    'delegation_limit',
    'denial_limit',
    'duration_limit',
    'idle_timeout',
    'operator_halt',
    'output_loop',
    'rule_declined',
    'rule_throttled',
    'rule_unanswered',
    'token_spend_limit',
    'tool_call_limit',
    'tool_loop',
  ];
  assert.deepEqual([...reached].sort(), wanted);
});

test('the same seed gives the same simulated run', async () => {
  const [first, second] = [await simulate(7), await simulate(7)];
  assert.deepEqual({ ...first, reached: [...first.reached] }, { ...second, reached: [...second.reached] });
});

test('the source line of every planted fault occurs exactly once', () => {
  const sources = listFiles('src').filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
  const texts = sources.map(readText);
  const adrift = faults.filter(({ find }) => texts.reduce((sum, text) => sum + text.split(find).length - 1, 0) !== 1);
  assert.deepEqual(
    adrift.map(({ name }) => name),
    [],
  );
});

const sample = [
  'a breaker trips one failure late',
  'a lost probe is waited for without end',
  'money of calls that are out is not reserved',
  'the halt of a task leaves its children running',
  'a host may settle a call twice',
];

for (const name of sample) {
  test(`the simulation finds a planted fault: ${name}`, () => {
    assert.ok(faults.some((fault) => fault.name === name));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, 'test/simulate.ts'), '--fault', name, '--seeds', `${seeds}`],
      { encoding: 'utf8' },
    );
    assert.match(stdout, /^seed \d+, step \d+/, stderr);
    assert.equal(status, 1);
  });
}
