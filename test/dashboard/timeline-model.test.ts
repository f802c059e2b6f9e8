import assert from 'node:assert/strict';
import test from 'node:test';
import {
  hasCalls,
  joinRows,
  makeBurn,
  makeTicks,
  makeTracks,
  placeLabel,
} from '../../dashboard/src/logic/timeline-model.ts';
import type { TimelineRow } from '../../src/operator/board/answers.ts';

let seq = 0;
function row(wallMs: number, type: TimelineRow['type'], more: Partial<TimelineRow> = {}): TimelineRow {
  return { seq: ++seq, atMs: wallMs, wallMs, type, task: 'root', agent: 'a', track: 'task', words: '', ...more };
}

const begin = (id: string) => ({ track: 'tool', name: 'search', call: { id, phase: 'begin' } }) as const;
const end = (id: string, ms: number) =>
  ({ track: 'tool', name: 'search', call: { id, phase: 'end', durationMs: ms } }) as const;

test('calls, tasks below and marks are on tracks: the task, its model, its tools, its children', () => {
  const rows = [
    row(0, 'task-started'),
    row(10, 'action-allowed', begin('1')),
    row(15, 'task-started', { task: 'child', agent: 'b' }),
    row(20, 'action-settled', { ...end('1', 10), mark: 'failed' }),
    row(22, 'usage-observed', { track: 'model', name: 'sonnet', micros: 10_000, tokens: 5 }),
    row(25, 'action-refused', { track: 'tool', name: 'search', mark: 'refused', counts: true }),
    row(28, 'action-allowed', { ...begin('2'), counts: true }),
    row(30, 'task-ended', { task: 'child', agent: 'b' }),
  ];
  const tracks = makeTracks(rows, 'root');
  assert.deepEqual(
    tracks.map(({ id, label }) => `${id} = ${label}`),
    ['task = task', 'model = model', 'tool:search = search', 'child:child = b · child'],
  );
  const [, model, search, child] = tracks;
  assert.deepEqual(
    search?.spans.map(({ fromMs, toMs, tone }) => [fromMs, toMs, tone]),
    [
      [10, 20, 'bad'],
      [28, undefined, 'plain'],
    ],
  );
  assert.deepEqual(
    search?.marks.map(({ mark, atMs }) => [mark, atMs]),
    [
      ['failed', 20],
      ['refused', 25],
    ],
  );
  assert.deepEqual([child?.spans[0]?.fromMs, child?.spans[0]?.toMs, child?.spans[0]?.isCall], [15, 30, false]);
  assert.equal(model?.spans.length, 1);
});

test('an end without its begin has its duration; many tools share a track', () => {
  const rows = [
    row(100, 'action-settled', end('9', 40)),
    ...Array.from({ length: 20 }, (_, at) =>
      row(200, 'failure-counted', { track: 'tool', name: `t${at}`, mark: 'failed' }),
    ),
  ];
  const tracks = makeTracks(rows, 'root');
  assert.deepEqual([tracks[0]?.spans[0]?.fromMs, tracks[0]?.spans[0]?.toMs], [60, 100]);
  assert.equal(tracks.length, 9);
  assert.deepEqual([tracks.at(-1)?.label, tracks.at(-1)?.marks.length], ['other tools', 13]);
});

test('the burn adds up costs of all tasks and calls of the root, and takes known totals', () => {
  const points = makeBurn(
    [
      row(1, 'task-started'),
      row(2, 'usage-observed', { micros: 20_000, tokens: 10 }),
      row(3, 'action-allowed', { counts: true }),
      row(4, 'action-allowed', { counts: true, task: 'child' }),
      row(5, 'action-settled', { micros: 10_000, tokens: 1, task: 'child' }),
      row(6, 'notice', { gauge: { name: 'tool_calls', actual: 40, limit: 50 } }),
    ],
    'root',
  );
  assert.deepEqual(
    points.map(({ cents, tokens, calls }) => [cents, tokens, calls]),
    [
      [2, 10, 0],
      [2, 10, 1],
      [2, 10, 1],
      [3, 11, 1],
      [3, 11, 40],
    ],
  );
});

test('rows join without doubles at both ends, and the oldest go first', () => {
  const [a, b, c, d] = [
    row(1, 'work-ended'),
    row(2, 'work-ended'),
    row(3, 'work-ended'),
    row(4, 'work-ended'),
  ] as const;
  assert.deepEqual(joinRows([b!, c!], [c!, d!], 10), [b, c, d]);
  assert.deepEqual(joinRows([b!, c!], [a!, b!], 10), [a, b, c]);
  assert.deepEqual(joinRows([a!, b!, c!], [d!], 2), [c, d]);
  assert.deepEqual(joinRows([], [a!], 10), [a]);
});

test('the label of the spend lies neither on the limit nor outside of the chart', () => {
  assert.equal(placeLabel(60, undefined), 55);
  assert.equal(placeLabel(60, 20), 55, 'the limit is far above');
  assert.equal(placeLabel(28, 18), 42, 'the limit would cross the label');
  assert.equal(placeLabel(10, 50), 24, 'above the line there is no room');
});

test('a journal without calls is told from one with calls; ticks are round and few', () => {
  assert.equal(hasCalls([row(1, 'task-started'), row(2, 'action-refused')]), false);
  assert.equal(hasCalls([row(1, 'call-observed')]), true);
  assert.deepEqual(makeTicks(500, 10_500, 5), [2_000, 4_000, 6_000, 8_000, 10_000]);
  assert.ok(makeTicks(0, 90 * 86_400_000, 6).length <= 14);
  assert.deepEqual(makeTicks(7, 8, 3), []);
});
