import assert from 'node:assert/strict';
import test from 'node:test';
import { documentDepthMax, documentKeyPartsMax, documentMarksMax } from '../../src/core/limits.ts';
import { findBoundsProblem } from '../../src/document/text-bounds.ts';

test('a text within its bounds has no problem', () => {
  assert.equal(findBoundsProblem(''), undefined);
  assert.equal(findBoundsProblem('\n'.repeat(documentMarksMax)), undefined);
  assert.equal(findBoundsProblem('['.repeat(documentDepthMax)), undefined);
  assert.equal(findBoundsProblem(`${'.'.repeat(documentKeyPartsMax - 1)}\n`.repeat(3)), undefined);
  assert.equal(findBoundsProblem('[]'.repeat(documentDepthMax * 2)), undefined);
});

test('the problem of a text names the bound and the place', () => {
  assert.match(findBoundsProblem(','.repeat(documentMarksMax + 1))?.message ?? '', /lines, commas and brackets/);
  assert.deepEqual(findBoundsProblem(`a\n${'{'.repeat(documentDepthMax + 1)}`)?.position, { line: 2, column: 257 });
  assert.match(findBoundsProblem('- '.repeat(documentDepthMax + 1))?.message ?? '', /nested too deeply/);
  assert.match(findBoundsProblem('.'.repeat(documentKeyPartsMax))?.message ?? '', /too many parts/);
});
