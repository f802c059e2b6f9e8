import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkUnpolluted, fuzzFiles, fuzzLines, fuzzPairs } from './fuzz-chains.ts';
import { shapes } from './fuzz-linear-time.ts';

test('20,000 random rule lines are parsed or rejected without a throw, and print as parsed', (context) => {
  const tally = checkUnpolluted(() => fuzzLines(20_000, 1));
  context.diagnostic(JSON.stringify(tally));
  assert.ok(tally.read! > 5_000 && tally.refused! > 2_000 && tally.fired! > 1_000);
});

test('in 20,000 random pairs a rule of a model never loosens the rule of the operator', (context) => {
  const tally = checkUnpolluted(() => fuzzPairs(20_000, 2));
  context.diagnostic(JSON.stringify(tally));
  assert.ok(tally.taken! > 2_000 && tally.rejected! > 2_000 && tally.stricter! > 1_000 && tally.same! > 1_000);
});

test('1,000 random chain files are parsed or rejected with a position, and throw only SwitchgearError', (context) => {
  const tally = checkUnpolluted(() => fuzzFiles(1_000, 3));
  context.diagnostic(JSON.stringify(tally));
  assert.ok(tally.read! > 50 && tally.refused! > 500 && tally.filled! > 20 && tally.unfilled! > 10);
});

test('inputs of every shape are parsed; node test/fuzz-chains.ts --linear measures the growth in time', () => {
  for (const { name, size, make } of shapes()) assert.doesNotThrow(make(Math.ceil(size / 50)), name);
});
