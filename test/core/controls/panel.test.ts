import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initialBreaker } from '../../../src/core/controls/breaker/state.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import { delegation } from '../../../src/core/controls/delegation/delegation.ts';
import {
  bindBreaker,
  bindDelegation,
  bindTaskControls,
  createTaskControls,
  initialTaskCells,
  type PanelTask,
} from '../../../src/core/controls/panel.ts';
import { makeLimits } from '../../harness/control-story.ts';

function taskOf(id: string, parent: PanelTask | undefined, loops = true): PanelTask {
  const controls = createTaskControls(
    { ...defaultSettings, loop: { ...defaultSettings.loop, enabled: loops } },
    makeLimits(),
  );
  return { id, controls, cells: initialTaskCells(controls, 9), parent };
}

test('a task has a cell for each of its controls, begun at its start', () => {
  const { cells } = taskOf('t', undefined);
  assert.deepEqual(cells.budget.state, { calls: 0, tokens: 0, micros: 0, reservedTokens: 0, reservedMicros: 0 });
  assert.equal(cells.deadline.state.startedAtMs, 9);
  assert.deepEqual(cells.loop?.state, { alike: 0, likeness: 1, between: 0, refused: [], memory: null });
  assert.deepEqual(cells.denials.state, { inARow: 0, turn: null, turnPassed: false });
  assert.equal(cells.own, undefined);
  assert.equal(taskOf('t', undefined, false).cells.loop, undefined);
});

test('a task sits with its own controls, then with the money and the clock of everyone above it', () => {
  const root = taskOf('root', undefined);
  const child = taskOf('child', taskOf('middle', root), true);
  const boundControls = bindTaskControls(child);
  assert.deepEqual(
    boundControls.map(({ control, cellOwner, ancestorId }) => [control.name, cellOwner, ancestorId]),
    [
      ['budget', 'self', undefined],
      ['deadline', 'self', undefined],
      ['loop', 'self', undefined],
      ['denials', 'self', undefined],
      ['budget', 'ancestor', 'middle'],
      ['deadline', 'ancestor', 'middle'],
      ['budget', 'ancestor', 'root'],
      ['deadline', 'ancestor', 'root'],
    ],
  );
  assert.equal(boundControls[0]?.cell, child.cells.budget);
  assert.equal(boundControls[7]?.cell, root.cells.deadline);
  assert.equal('ancestorId' in boundControls[0]!, false);
  const names = bindTaskControls(taskOf('t', undefined, false)).map(({ control }) => control.name);
  assert.deepEqual(names, ['budget', 'deadline', 'denials']);
});

test('a breaker and a worker have a seat of their own', () => {
  const cell = { state: initialBreaker(defaultSettings.circuitBreaker) };
  const bound = bindBreaker(defaultSettings.circuitBreaker, cell);
  assert.deepEqual([bound.control.name, bound.cell, bound.cellOwner], ['breaker', cell, 'self']);
  const worker = { state: delegation(defaultSettings.delegation).initial(0) };
  const other = bindDelegation(defaultSettings.delegation, worker);
  assert.deepEqual([other.control.name, other.cell, other.cellOwner], ['delegation', worker, 'self']);
});
