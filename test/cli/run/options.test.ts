import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Terminal } from '../../../src/cli/command.ts';
import { parseRunOptions } from '../../../src/cli/run/options.ts';

const terminal: Terminal = { out: () => undefined, err: () => undefined, cwd: '/', env: {} };
const parseLimits = (...args: string[]) => parseRunOptions([...args, '--', 'agent'], terminal).limits;

test('limits are parsed with their units, such as 2h, 90s and $2.50', () => {
  assert.deepEqual(parseLimits(), {});
  assert.deepEqual(parseLimits('--max-calls', '7', '--max-tokens=9', '--max-spend', '$2.50'), {
    maxToolCalls: 7,
    maxTokens: 9,
    maxSpendCents: 250,
  });
  assert.deepEqual(parseLimits('--max-duration', '2h', '--max-idle', '90s'), {
    maxDurationSecs: 7200,
    maxIdleSecs: 90,
  });
  assert.deepEqual(parseLimits('--max-duration', '30m', '--max-idle', '45s'), {
    maxDurationSecs: 1800,
    maxIdleSecs: 45,
  });
});

for (const args of [
  ['--max-calls', '0'],
  ['--max-calls', '1e3'],
  ['--max-calls', '-1'],
  ['--max-tokens', 'many'],
  ['--max-spend', '0'],
  ['--max-spend', '0.001'],
  ['--max-spend', '1e9'],
  ['--max-duration', '0'],
  ['--max-duration', '5'],
  ['--grace', '10'],
  ['--max-idle', '5 minutes'],
  ['--max-idle', '-5'],
  ['--wait', 'soon'],
  ['--raw', '--json'],
  ['--mapping', 'no-such-file.json'],
  ['claude'],
  ['--unknown'],
]) {
  test(`"${args.join(' ')}" is an error and never disables a limit`, () => {
    assert.throws(() => parseRunOptions([...args, '--', 'agent'], terminal), { code: 'usage' });
  });
}

test('everything after the first -- is the command, even if it looks like an option', () => {
  const { command, raw } = parseRunOptions(['--', 'agent', '--raw', '--', '--max-calls', '3'], terminal);
  assert.deepEqual([command, raw], [['agent', '--raw', '--', '--max-calls', '3'], false]);
  assert.throws(() => parseRunOptions(['agent'], terminal), /write the command after --/);
  assert.throws(() => parseRunOptions(['--'], terminal), /no command after --/);
});
