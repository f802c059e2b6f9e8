import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Control } from '../../../src/core/control.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import type { Entry } from '../../../src/core/event.ts';
import { createReplayTasks } from '../../../src/core/replay/tasks.ts';
import { makeLimits, makeStop } from '../../harness/control-story.ts';

const start = (task: string, said: { parent?: string; retryOf?: string } = {}) =>
  ({ seq: 1, atMs: 5, wallMs: 0, type: 'task-started', task, limits: makeLimits(), ...said }) as Extract<
    Entry,
    { type: 'task-started' }
  >;

const halt = makeStop('halt', { code: 'tool_call_limit' });

function tree() {
  const tasks = createReplayTasks(defaultSettings, []);
  tasks.start(start('root'));
  tasks.start(start('middle', { parent: 'root' }));
  tasks.start(start('leaf', { parent: 'middle' }));
  const stops = () => ['root', 'middle', 'leaf'].map((id) => tasks.find(id)?.stop?.code);
  return { tasks, stops, at: (id: string) => tasks.find(id)! };
}

test('a task is found by its id, and an unknown id finds no task', () => {
  const { tasks, at } = tree();
  assert.equal(at('leaf').parent, at('middle'));
  assert.deepEqual(at('root').children, [at('middle')]);
  assert.equal(at('root').cells.deadline.state.startedAtMs, 5);
  assert.equal(tasks.find('stranger'), undefined);
  assert.equal(tasks.find(undefined), undefined);
});

test('a halt ends a task and its descendants, and the journal must contain only the halt of the task', () => {
  const { tasks, stops, at } = tree();
  tasks.halt(at('middle'), halt, false);
  assert.deepEqual(stops(), [undefined, halt.code, halt.code]);
  assert.deepEqual(tasks.listMissingHalts(), [at('middle')]);
  tasks.halt(at('middle'), makeStop('halt', { code: 'token_limit' }), false);
  assert.deepEqual(stops(), [undefined, halt.code, halt.code]);
  at('middle').isInJournal = true;
  assert.deepEqual(tasks.listMissingHalts(), []);
  tasks.start(start('late', { parent: 'middle' }));
  assert.deepEqual([at('late').stop, at('late').isOwnHalt], [halt, false]);
});

test('a halt ends the ancestor that the verdict names, and the root if the name is unknown', () => {
  for (const [ends, expected] of [
    ['leaf', [undefined, undefined, halt.code]],
    ['middle', [undefined, halt.code, halt.code]],
    ['root', [halt.code, halt.code, halt.code]],
    ['nobody', [halt.code, halt.code, halt.code]],
  ] as const) {
    const { tasks, stops, at } = tree();
    tasks.halt(at('leaf'), { ...halt, ends }, false);
    assert.deepEqual(stops(), expected, ends);
  }
});

test('an ended task is not ended again', () => {
  const { tasks, stops, at } = tree();
  tasks.end('leaf');
  tasks.end('stranger');
  tasks.end(undefined);
  tasks.halt(at('leaf'), halt, false);
  tasks.halt(at('root'), halt, false);
  assert.deepEqual(stops(), [halt.code, halt.code, undefined]);
});

test('in observe mode a halt ends no task and is recorded as reported', () => {
  const { tasks, stops, at } = tree();
  tasks.halt(at('leaf'), { ...halt, ends: 'root' }, true);
  assert.deepEqual(stops(), [undefined, undefined, undefined]);
  assert.deepEqual([...at('root').reported], [halt.code]);
  assert.deepEqual(tasks.listMissingHalts(), []);
});

test('the retry of a task continues from the counters of the first attempt', () => {
  const { tasks, at } = tree();
  at('leaf').cells.budget.state.calls = 51;
  tasks.start(start('again', { retryOf: 'leaf' }));
  tasks.start(start('lost', { retryOf: 'stranger' }));
  assert.equal(at('again').cells.budget.state.calls, 51);
  assert.equal(at('lost').cells.budget.state.calls, 0);
});

test('custom controls come after the controls of the task and before those of its ancestors', () => {
  const own = (name: string, scope: Control['scope']) =>
    ({ name, scope, initial: (atMs: number) => ({ atMs }) }) as unknown as Control<never>;
  const controls = [own('mine', 'task'), own('ours', 'chain'), own('theirs', 'session')];
  for (const enabled of [true, false]) {
    const tasks = createReplayTasks({ ...defaultSettings, loop: { ...defaultSettings.loop, enabled } }, controls);
    tasks.start(start('root'));
    tasks.start(start('leaf', { parent: 'root' }));
    const names = tasks.find('leaf')!.boundControls.map(({ control, cellOwner }) => `${control.name} ${cellOwner}`);
    assert.deepEqual(names, [
      'budget self',
      'deadline self',
      ...(enabled ? ['loop self'] : []),
      'denials self',
      'mine self',
      'ours self',
      'budget ancestor',
      'deadline ancestor',
    ]);
    assert.deepEqual(tasks.find('leaf')!.cells.own?.mine, { state: { atMs: 5 } });
  }
});
