/** The benchmarks start. One table is measured once and briefly; its figures are not judged here. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPolicyDetector } from '../bench/detectors/policy-detector.ts';
import type { Run, RunEvent } from '../bench/detectors/runs.ts';
import { scoreAll } from '../bench/detectors/score.ts';
import { createChance, findInterval, findLoss } from '../bench/detectors/yardstick.ts';
import { root } from './harness/source.ts';

test('the benchmark of the whole guard runs and prints its table', () => {
  const args = ['--expose-gc', join(root, 'bench', 'main.ts'), '--quick', '--only', 'guard'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /\| no arguments, no result \|/);
});

/** A run in which each step is a call of `read` and its result, or, with a dot in front, a text. */
function makeRun(outcome: Run['outcome'], ...steps: readonly string[]): Run {
  const events = steps.flatMap((step, at): RunEvent[] => {
    if (step.startsWith('.')) return [{ type: 'assistant', text: step }];
    const id = `c${at}`;
    return [
      { type: 'assistant', text: '' },
      { type: 'tool_call', id, name: 'read', args: '{}' },
      { type: 'tool_result', id, ok: true, text: step },
    ];
  });
  return { source: 'any', run_id: steps.join(), model: '-', kind: '-', outcome, events };
}

test('a false halt costs work, a last text or nothing, by what the run still did', () => {
  assert.equal(findLoss(makeRun('success', 'a', 'a', 'b'), 5), 'work');
  assert.equal(findLoss(makeRun('success', 'a', 'a', '.done'), 2), 'text');
  assert.equal(findLoss(makeRun('success', 'a', 'a', 'a'), 2), 'nothing');
});

test('chance is the share of good runs among those still going at the turn of the halt', () => {
  const [short, long] = [makeRun('success', 'a'), makeRun('success', 'a', 'b')];
  const chance = createChance([short, long, makeRun('failure', 'a', 'b', 'c')]);
  assert.equal(chance(short, 2), 2 / 3);
  assert.equal(chance(long, 5), 1 / 2);
});

test('the bootstrap interval holds the share and is the same at every time', () => {
  const [parts, wholes] = [Array.from({ length: 100 }, (_, at) => at % 4), Array.from({ length: 100 }, () => 4)];
  const [low, high] = findInterval(parts, wholes);
  assert.ok(low > 25 && low < 37.5 && high > 37.5 && high < 50, `${low} to ${high}`);
  assert.deepEqual(findInterval(parts, wholes), [low, high]);
});

test('a run is raised by a halt, and by a card that holds nothing', () => {
  const stuck = Array.from({ length: 8 }, () => 'a');
  const detectors = [
    createPolicyDetector('halts', {}),
    createPolicyDetector('tells', { loop: { repeats: 20, note_points: 3, card_points: 3 } }),
    createPolicyDetector('hints', { loop: { repeats: 20, note_points: 3, card_points: 88 } }),
  ];
  const runs = [makeRun('failure', ...stuck), makeRun('failure', '.hello')];
  const found = scoreAll(runs, detectors, undefined).map((score) => [score.badHalted, score.badRaised]);
  assert.deepEqual(found[0], [1, 1]);
  assert.deepEqual(found[1], [0, 1]);
  assert.deepEqual(found[2], [0, 0]);
});
