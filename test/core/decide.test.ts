import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Control } from '../../src/core/control.ts';
import { allowed, applyAll, checkAll, decide, type Panel, type Seat } from '../../src/core/decide.ts';
import type { ControlEvent } from '../../src/core/event.ts';
import { allow, type Stop, type Verdict } from '../../src/core/verdict.ts';
import { actionOf, stopOf } from '../control-story.ts';

interface Said {
  readonly judge?: Verdict;
  readonly check?: Verdict;
  readonly due?: Verdict;
  readonly owner?: string;
}

/** A control that says what it is told to, and keeps what it heard. */
function seat(name: string, said: Said = {}): Seat<string[]> {
  const control: Control<string[]> = {
    name,
    scope: 'task',
    initial: () => [],
    judge: (heard, { atMs, action }, place) => {
      assert.deepEqual([heard, atMs, action.name, place], [[], 5, 'search', place]);
      return said.judge ?? allow;
    },
    apply: (heard, { type }, place) => [...heard, `${type} ${place}`],
    ...(said.check !== undefined && { check: (_, atMs) => (atMs === 5 ? said.check! : allow) }),
    ...(said.due !== undefined && { due: (_, action) => (action.name === 'search' ? said.due! : allow) }),
  };
  const place = said.owner === undefined ? 'self' : 'ancestor';
  return { control, cell: { state: [] }, place, ...(said.owner !== undefined && { owner: said.owner }) };
}

const panel = (...seats: readonly Seat<string[]>[]) => seats as unknown as Panel;
const proposal = { type: 'action-proposed', atMs: 5, action: actionOf() } as const;
const deny = stopOf('deny', { control: 'b' });
const halt = stopOf('halt', { control: 'c' });

test('where everyone allows, the shared decision comes back', () => {
  assert.equal(decide(panel(), proposal), allowed);
  assert.equal(decide(panel(seat('a'), seat('b')), proposal), allowed);
  assert.deepEqual(allowed, { verdict: { kind: 'allow' }, votes: [] });
});

test('the strictest verdict wins and every vote is kept, in the order of the seats', () => {
  const seats = panel(seat('a'), seat('b', { judge: deny }), seat('c', { judge: halt }), seat('d'));
  assert.deepEqual(decide(seats, proposal), {
    verdict: halt,
    votes: [
      { control: 'a', verdict: allow },
      { control: 'b', verdict: deny },
      { control: 'c', verdict: halt },
      { control: 'd', verdict: allow },
    ],
  });
});

test('a halt on an ancestor’s account ends the ancestor, unless it says whom it ends; a deny ends nobody', () => {
  const verdictOf = (judge: Stop) => decide(panel(seat('a', { judge, owner: 'boss' })), proposal);
  const ends = { ...halt, ends: 'boss' };
  assert.deepEqual(verdictOf(halt), { verdict: ends, votes: [{ control: 'a', verdict: ends }] });
  assert.deepEqual(verdictOf({ ...halt, ends: 'root' }).verdict, { ...halt, ends: 'root' });
  assert.deepEqual(verdictOf(deny).verdict, deny);
  assert.deepEqual(decide(panel(seat('a', { judge: halt })), proposal).verdict, halt);
});

test('everyone hears what happened, at its own place', () => {
  const seats = [seat('a'), seat('b', { owner: 'boss' })];
  applyAll(panel(...seats), { type: 'user-observed', atMs: 5 } satisfies ControlEvent);
  assert.deepEqual(
    seats.map(({ cell }) => cell.state),
    [['user-observed self'], ['user-observed ancestor']],
  );
});

test('what is due is the strictest of all checks, an ancestor’s halt on its own account', () => {
  assert.equal(checkAll(panel(seat('a'), seat('b', { check: allow })), 5), allow);
  const seats = panel(seat('a'), seat('b', { check: deny }), seat('c', { check: halt, owner: 'boss' }));
  assert.deepEqual(checkAll(seats, 5), { ...halt, ends: 'boss' });
  assert.equal(checkAll(seats, 6), allow);
});

test('what an ended action brought is asked for only where one ended', () => {
  const seats = panel(seat('a', { check: deny }), seat('b', { due: halt }), seat('c'));
  assert.equal(checkAll(seats, 5), deny);
  assert.equal(checkAll(seats, 5, actionOf()), halt);
  assert.equal(checkAll(seats, 5, actionOf({ name: 'other' })), deny);
});
