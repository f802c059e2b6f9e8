import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Control } from '../../../src/core/control.ts';
import { initialBreaker } from '../../../src/core/controls/breaker/state.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import { delegation } from '../../../src/core/controls/delegation/delegation.ts';
import {
  bindBreaker,
  bindDelegations,
  bindSharedControls,
  bindTaskControls,
  createTaskControls,
  initialTaskCells,
  listFeatures,
  type PanelTask,
} from '../../../src/core/controls/panel.ts';
import type { PanelDeclaration } from '../../../src/core/declare/control-declaration.ts';
import { allow } from '../../../src/core/verdict.ts';
import { makeLimits } from '../../harness/control-story.ts';

function taskOf(id: string, parent: PanelTask | undefined, loops = true): PanelTask {
  const controls = createTaskControls(
    { ...defaultSettings, loop: { ...defaultSettings.loop, enabled: loops } },
    makeLimits(),
  );
  return { id, controls, cells: initialTaskCells(controls, 9), parent };
}

test('a task has one cell for each of its controls, initialised when the task starts', () => {
  const { cells } = taskOf('t', undefined);
  assert.deepEqual(cells.budget.state, { calls: 0, tokens: 0, micros: 0, reservedTokens: 0, reservedMicros: 0 });
  assert.equal(cells.deadline.state.startedAtMs, 9);
  assert.deepEqual(cells.loop?.state, { alike: 0, likeness: 1, times: 1, between: 0, refused: [], memory: null });
  assert.deepEqual(cells.denials.state, { inARow: 0, turn: null, turnPassed: false });
  assert.equal(cells.own, undefined);
  assert.equal(taskOf('t', undefined, false).cells.loop, undefined);
});

test('a task is bound to its own controls, then to the budget and the deadline of each ancestor', () => {
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

test('a breaker and a delegation control are bound to the cell of their target', () => {
  const cell = { state: initialBreaker(defaultSettings.circuitBreaker) };
  const bound = bindBreaker(defaultSettings.circuitBreaker, cell);
  assert.deepEqual([bound.control.name, bound.cell, bound.cellOwner], ['breaker', cell, 'self']);
  const worker = { state: delegation(defaultSettings.delegation).initial(0) };
  const [other] = bindDelegations(defaultSettings.delegation, 'worker', (control) => ({
    control,
    cell: worker,
    cellOwner: 'self',
  }));
  assert.deepEqual([other?.control.name, other?.cell, other?.cellOwner], ['delegation', worker, 'self']);
});

const everyCall = {
  kind: 'deny',
  means: 'x',
  remedy: 'x',
  texts: () => ({ message: '', remediation: '', explanation: '' }),
};

function declare(scope: Control['scope'], isOn = true): PanelDeclaration {
  const name = `by-${scope}`;
  const control: Control<{ seen: number }> = {
    name,
    scope,
    initial: () => ({ seen: 0 }),
    judge: () => allow,
    apply: (state) => state,
  };
  return {
    name,
    scope,
    summary: { stops: 'x', byDefault: 'x', statePer: 'x' },
    codes: { x_limit: everyCall },
    feature: { name, read: () => 'x' },
    create: () => (isOn ? control : undefined),
  };
}

test('a declared control of a target, a session or the gear gets a cell by its scope, unless disabled', () => {
  const keys: string[] = [];
  const cellOf = (control: Control, key: readonly string[]) => {
    keys.push(key.join('/'));
    return { state: control.initial(0) };
  };
  const declared = [declare('target'), declare('session'), declare('gear'), declare('gear', false)];
  const panel = bindSharedControls(defaultSettings, { target: 'search', session: 's1' }, cellOf, declared);
  assert.deepEqual(keys, ['control/by-target/search', 'control/by-session/s1', 'control/by-gear']);
  assert.deepEqual(
    panel.map(({ control, cellOwner }) => [control.name, cellOwner]),
    [
      ['by-target', 'self'],
      ['by-session', 'self'],
      ['by-gear', 'self'],
    ],
  );
});

test('features of the arguments are listed only for controls that are enabled', () => {
  const features = listFeatures(defaultSettings, [declare('task'), declare('gear', false)]);
  assert.deepEqual(
    features.map(({ name }) => name),
    ['by-task'],
  );
  assert.deepEqual(listFeatures(defaultSettings), []);
});

test('a stored task that lacks the cell of a control gets the cell when the controls are bound', () => {
  const { loop: _, ...cells } = taskOf('t', undefined).cells;
  const task = { ...taskOf('t', undefined), cells: cells as PanelTask['cells'] };
  const bound = bindTaskControls(task).find(({ control }) => control.name === 'loop');
  assert.deepEqual(bound?.cell.state, { alike: 0, likeness: 1, times: 1, between: 0, refused: [], memory: null });
  assert.equal(task.cells.loop, bound?.cell);
});
