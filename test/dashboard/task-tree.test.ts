import assert from 'node:assert/strict';
import test from 'node:test';
import { findVisible, listTaskRows, moveInTree } from '../../dashboard/src/logic/task-tree.ts';
import type { OperatorTask } from '../../src/operator/board/answers.ts';

function task(id: string, parent?: string, state: OperatorTask['state'] = 'running'): OperatorTask {
  return { id, agent: `${id} agent`, session: 's', state, startedWallMs: 0, ageMs: 0, ...(parent && { parent }) };
}

const all = { text: '', onlyLive: false };
const tasks = [task('a'), task('b', 'a'), task('c', 'b', 'halted'), task('d', 'gone'), task('e', 'a')];
const outline = (rows: ReturnType<typeof listTaskRows>) =>
  rows.map(({ task: { id }, level, position, siblings }) => `${id} ${level} ${position}/${siblings}`);

test('tasks are a tree, the newest root first; a task whose parent is unknown is a root', () => {
  const rows = listTaskRows(tasks, new Set(), all);
  assert.deepEqual(outline(rows), ['d 1 1/2', 'a 1 2/2', 'b 2 1/2', 'c 3 1/1', 'e 2 2/2']);
  assert.deepEqual(outline(listTaskRows(tasks, new Set(['a']), all)), ['d 1 1/2', 'a 1 2/2']);
});

test('a filter keeps the ancestors of what it finds', () => {
  assert.deepEqual(outline(listTaskRows(tasks, new Set(), { text: ' C AGENT', onlyLive: false })), [
    'a 1 1/1',
    'b 2 1/1',
    'c 3 1/1',
  ]);
  assert.deepEqual(
    listTaskRows(tasks, new Set(), { text: '', onlyLive: true }).map(({ task: { id } }) => id),
    ['d', 'a', 'b', 'e'],
  );
});

test('a circle of parents and an id that is used twice end', () => {
  const circle = [task('x', 'y'), task('y', 'x'), task('z', 'z'), task('z')];
  const ids = listTaskRows(circle, new Set(), all).map(({ task: { id } }) => id);
  assert.deepEqual(ids.toSorted(), ['x', 'y', 'z']);
});

test('arrow keys move, open and close', () => {
  const rows = listTaskRows(tasks, new Set(['b']), all); // d, a, b (closed), e
  assert.deepEqual(moveInTree(rows, 0, 'ArrowDown'), { kind: 'focus', index: 1 });
  assert.deepEqual(moveInTree(rows, 0, 'ArrowUp'), { kind: 'focus', index: 0 });
  assert.deepEqual(moveInTree(rows, 1, 'End'), { kind: 'focus', index: 3 });
  assert.deepEqual(moveInTree(rows, 3, 'PageDown'), { kind: 'focus', index: 3 });
  assert.deepEqual(moveInTree(rows, 1, 'ArrowRight'), { kind: 'focus', index: 2 });
  assert.deepEqual(moveInTree(rows, 2, 'ArrowRight'), { kind: 'expand' });
  assert.deepEqual(moveInTree(rows, 1, 'ArrowLeft'), { kind: 'collapse' });
  assert.deepEqual(moveInTree(rows, 3, 'ArrowLeft'), { kind: 'focus', index: 1 });
  assert.equal(moveInTree(rows, 0, 'ArrowLeft'), undefined);
  assert.deepEqual(moveInTree(rows, 0, 'Enter'), { kind: 'open' });
  assert.equal(moveInTree([], 0, 'ArrowDown'), undefined);
});

test('of 1,000 rows those in sight and a few around them are drawn', () => {
  assert.deepEqual(findVisible(1_000, 50, 0, 500), { from: 0, to: 18 });
  assert.deepEqual(findVisible(1_000, 50, 25_000, 500), { from: 496, to: 518 });
  assert.deepEqual(findVisible(3, 50, 0, 500), { from: 0, to: 3 });
});
