import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Control } from '../../src/core/control.ts';
import { allowed, applyAll, type BoundControl, checkAll, decide, type Panel } from '../../src/core/decide.ts';
import type { ControlEvent } from '../../src/core/event.ts';
import { allow, type Stop, type Verdict } from '../../src/core/verdict.ts';
import { makeAction, makeStop } from '../harness/control-story.ts';

interface Said {
  readonly judge?: Verdict;
  readonly check?: Verdict;
  readonly due?: Verdict;
  readonly ancestorId?: string;
}

/** A control that says what it is told to, and keeps what it heard. */
function bound(name: string, said: Said = {}): BoundControl<string[]> {
  const control: Control<string[]> = {
    name,
    scope: 'task',
    initial: () => [],
    judge: (heard, { atMs, action }, cellOwner) => {
      assert.deepEqual([heard, atMs, action.name, cellOwner], [[], 5, 'search', cellOwner]);
      return said.judge ?? allow;
    },
    apply: (heard, { type }, cellOwner) => [...heard, `${type} ${cellOwner}`],
    ...(said.check !== undefined && { check: (_, atMs) => (atMs === 5 ? said.check! : allow) }),
    ...(said.due !== undefined && { due: (_, action) => (action.name === 'search' ? said.due! : allow) }),
  };
  const cellOwner = said.ancestorId === undefined ? 'self' : 'ancestor';
  return {
    control,
    cell: { state: [] },
    cellOwner,
    ...(said.ancestorId !== undefined && { ancestorId: said.ancestorId }),
  };
}

const panel = (...boundControls: readonly BoundControl<string[]>[]) => boundControls as unknown as Panel;
const proposal = { type: 'action-proposed', atMs: 5, action: makeAction() } as const;
const deny = makeStop('deny', { control: 'b' });
const halt = makeStop('halt', { control: 'c' });

test('if all controls allow, the shared allow decision is returned', () => {
  assert.equal(decide(panel(), proposal), allowed);
  assert.equal(decide(panel(bound('a'), bound('b')), proposal), allowed);
  assert.deepEqual(allowed, { verdict: { kind: 'allow' }, votes: [] });
});

test('the strictest verdict wins, and every vote is kept in the order of the controls', () => {
  const boundControls = panel(bound('a'), bound('b', { judge: deny }), bound('c', { judge: halt }), bound('d'));
  assert.deepEqual(decide(boundControls, proposal), {
    verdict: halt,
    votes: [
      { control: 'a', verdict: allow },
      { control: 'b', verdict: deny },
      { control: 'c', verdict: halt },
      { control: 'd', verdict: allow },
    ],
  });
});

test('a halt by an ancestor’s control halts the ancestor, unless it names another task; a deny halts no task', () => {
  const verdictOf = (judge: Stop) => decide(panel(bound('a', { judge, ancestorId: 'boss' })), proposal);
  const ends = { ...halt, ends: 'boss' };
  assert.deepEqual(verdictOf(halt), { verdict: ends, votes: [{ control: 'a', verdict: ends }] });
  assert.deepEqual(verdictOf({ ...halt, ends: 'root' }).verdict, { ...halt, ends: 'root' });
  assert.deepEqual(verdictOf(deny).verdict, deny);
  assert.deepEqual(decide(panel(bound('a', { judge: halt })), proposal).verdict, halt);
});

test('every control receives each event, with its position as self or ancestor', () => {
  const boundControls = [bound('a'), bound('b', { ancestorId: 'boss' })];
  applyAll(panel(...boundControls), { type: 'user-observed', atMs: 5 } satisfies ControlEvent);
  assert.deepEqual(
    boundControls.map(({ cell }) => cell.state),
    [['user-observed self'], ['user-observed ancestor']],
  );
});

test('the strictest of all checks wins, and an ancestor’s halt belongs to the ancestor', () => {
  assert.equal(checkAll(panel(bound('a'), bound('b', { check: allow })), 5), allow);
  const boundControls = panel(bound('a'), bound('b', { check: deny }), bound('c', { check: halt, ancestorId: 'boss' }));
  assert.deepEqual(checkAll(boundControls, 5), { ...halt, ends: 'boss' });
  assert.equal(checkAll(boundControls, 6), allow);
});

test('checkAll asks controls about an ended action only if an action is passed', () => {
  const boundControls = panel(bound('a', { check: deny }), bound('b', { due: halt }), bound('c'));
  assert.equal(checkAll(boundControls, 5), deny);
  assert.equal(checkAll(boundControls, 5, makeAction()), halt);
  assert.equal(checkAll(boundControls, 5, makeAction({ name: 'other' })), deny);
});
