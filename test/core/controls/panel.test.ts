import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initialBreaker } from '../../../src/core/controls/breaker/state.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import { delegation } from '../../../src/core/controls/delegation/delegation.ts';
import {
  breakerSeat,
  delegationSeat,
  initialTaskCells,
  type TaskSeats,
  taskControls,
  taskSeats,
} from '../../../src/core/controls/panel.ts';
import { limitsOf } from '../../control-story.ts';

function taskOf(id: string, parent: TaskSeats | undefined, loops = true): TaskSeats {
  const controls = taskControls(limitsOf(), { ...defaultSettings.loop, enabled: loops });
  return { id, controls, cells: initialTaskCells(controls, 9), parent };
}

test('a task has a cell for each of its controls, begun at its start', () => {
  const { cells } = taskOf('t', undefined);
  assert.deepEqual(cells.budget.state, { calls: 0, tokens: 0, micros: 0, reservedTokens: 0, reservedMicros: 0 });
  assert.equal(cells.deadline.state.startedAtMs, 9);
  assert.deepEqual(cells.loop.state, { alike: 0, likeness: 1, between: 0, refused: [], memory: null });
  assert.deepEqual(cells.denials.state, { inARow: 0, turn: null, turnPassed: false });
  assert.equal(cells.own, undefined);
  assert.deepEqual(taskOf('t', undefined, false).cells.loop.state, cells.loop.state);
});

test('a task sits with its own controls, then with the money and the clock of everyone above it', () => {
  const root = taskOf('root', undefined);
  const child = taskOf('child', taskOf('middle', root), true);
  const seats = taskSeats(child);
  assert.deepEqual(
    seats.map(({ control, place, owner }) => [control.name, place, owner]),
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
  assert.equal(seats[0]?.cell, child.cells.budget);
  assert.equal(seats[7]?.cell, root.cells.deadline);
  assert.equal('owner' in seats[0]!, false);
  const names = taskSeats(taskOf('t', undefined, false)).map(({ control }) => control.name);
  assert.deepEqual(names, ['budget', 'deadline', 'denials']);
});

test('a breaker and a worker have a seat of their own', () => {
  const cell = { state: initialBreaker(defaultSettings.circuitBreaker) };
  const seat = breakerSeat(defaultSettings.circuitBreaker, cell);
  assert.deepEqual([seat.control.name, seat.cell, seat.place], ['breaker', cell, 'self']);
  const worker = { state: delegation(defaultSettings.delegation).initial(0) };
  const other = delegationSeat(defaultSettings.delegation, worker);
  assert.deepEqual([other.control.name, other.cell, other.place], ['delegation', worker, 'self']);
});
