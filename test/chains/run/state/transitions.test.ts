/** How a run moves, as a table: from where, by which move, to where. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { RunOwner, RunState, StepState } from '../../../../src/chains/run/state/run-state.ts';
import { applyTransition, isOver, type RunTransition } from '../../../../src/chains/run/state/transitions.ts';

const me: RunOwner = { process: 'me', untilMs: 100, pid: 1, machine: 'here' };
const other: RunOwner = { process: 'other', untilMs: 50, pid: 2, machine: 'here' };
const end = { code: 'ability_failed', message: 'no' } as const;

function runOf(more: Partial<RunState> = {}, first: Partial<StepState> = {}, idempotent = false): RunState {
  const step = (id: string) => ({ id, ability: 'do', args: {}, idempotent });
  return {
    format: 1,
    id: 'r',
    status: 'running',
    chain: { id: 'c', params: [], rules: [], ruleSettings: {}, steps: [step('a'), step('b')] },
    params: {},
    modelRules: [],
    startedWallMs: 0,
    steps: [
      { id: 'a', status: 'pending', attempts: 0, ...first },
      { id: 'b', status: 'pending', attempts: 0 },
    ],
    owner: me,
    approved: [],
    ...more,
  };
}

const running: Partial<StepState> = { status: 'running', attempts: 1 };
const nobody = { owner: undefined as never };
const begun: RunTransition = { type: 'begun', by: 'me', step: 0, attempt: 1, wallMs: 5 };
const finished: RunTransition = { type: 'finished', by: 'me', step: 0, attempt: 1, wallMs: 9, outputBytes: 3 };
const failed: RunTransition = { type: 'failed', by: 'me', step: 0, attempt: 1, wallMs: 9, end };
const takeOver: RunTransition = { type: 'taken', owner: me, previousOwner: other };

/** The status of the run and of its first step, and who has it; `no` where the move cannot be made. */
function told(run: RunState | undefined, before: RunState): string {
  if (run === undefined) return 'no';
  if (run === before) return 'same';
  return [run.status, run.steps[0]!.status, run.owner?.process ?? 'nobody'].join(' ');
}

const story: readonly (readonly [string, RunState, RunTransition, string])[] = [
  ['a pending step begins', runOf(), begun, 'running running me'],
  ['a step that has begun is not begun twice', runOf({}, running), begun, 'same'],
  ['nobody begins a step of another’s run', runOf({ owner: other }), begun, 'no'],
  ['a step that is done does not begin', runOf({}, { status: 'done', attempts: 1 }), begun, 'no'],
  ['a step does not begin before its turn', runOf(), { ...begun, step: 1 }, 'no'],
  ['a second attempt follows the first', runOf({}, { attempts: 1 }), { ...begun, attempt: 2 }, 'running running me'],
  ['an attempt that was made is not made again', runOf({}, { attempts: 2 }), begun, 'no'],
  ['a running step finishes', runOf({}, running), finished, 'running done me'],
  ['finishing twice changes nothing', runOf({}, { status: 'done', attempts: 1 }), finished, 'same'],
  ['a result of an earlier attempt is late', runOf({}, { status: 'running', attempts: 2 }), finished, 'no'],
  [
    'a result settles a doubt',
    runOf({ status: 'in-doubt', ...nobody }, { status: 'in-doubt', attempts: 1 }),
    finished,
    'running done nobody',
  ],
  [
    'a result of a cancelled run is kept, and the run stays cancelled',
    runOf({ status: 'cancelled', ...nobody }, { status: 'in-doubt', attempts: 1 }),
    finished,
    'cancelled done nobody',
  ],
  ['another’s run takes no result', runOf({ owner: other }, running), finished, 'no'],
  ['a failing step fails its run', runOf({}, running), failed, 'failed failed nobody'],
  [
    'failing twice changes nothing',
    runOf({ status: 'failed', ...nobody }, { status: 'failed', attempts: 1 }),
    failed,
    'same',
  ],
  ['a gone owner is followed', runOf({ owner: other }), takeOver, 'running pending me'],
  ['an owner who renewed meanwhile lives', runOf({ owner: { ...other, untilMs: 51 } }), takeOver, 'no'],
  ['a run that nobody has is taken', runOf(nobody), { ...takeOver, previousOwner: undefined }, 'running pending me'],
  [
    'a run that somebody took meanwhile is not',
    runOf({ owner: other }),
    { ...takeOver, previousOwner: undefined },
    'no',
  ],
  ['taking twice changes nothing', runOf(), takeOver, 'same'],
  ['what ran when its owner went is in doubt', runOf({ owner: other }, running), takeOver, 'in-doubt in-doubt nobody'],
  ['what may run twice runs again', runOf({ owner: other }, running, true), takeOver, 'running pending me'],
  [
    'a run in doubt is not taken',
    runOf({ status: 'in-doubt', ...nobody }, { status: 'in-doubt', attempts: 1 }),
    { ...takeOver, previousOwner: undefined },
    'no',
  ],
  [
    'a run that is over is not taken',
    runOf({ status: 'done', ...nobody }),
    { ...takeOver, previousOwner: undefined },
    'no',
  ],
  [
    'a throttled run is taken',
    runOf({ status: 'throttled', ...nobody, end }),
    { ...takeOver, previousOwner: undefined },
    'running pending me',
  ],
  [
    'a doubt is settled as done',
    runOf({ status: 'in-doubt', ...nobody }, { status: 'in-doubt', attempts: 1 }),
    { type: 'resolved', how: 'done', outputBytes: 4, wallMs: 1 },
    'running done nobody',
  ],
  [
    'a doubt is settled as to be done again',
    runOf({ status: 'in-doubt', ...nobody }, { status: 'in-doubt', attempts: 1 }),
    { type: 'resolved', how: 'redo', outputBytes: 4, wallMs: 1 },
    'running pending nobody',
  ],
  [
    'where nothing is in doubt nothing is settled',
    runOf(),
    { type: 'resolved', how: 'done', outputBytes: 4, wallMs: 1 },
    'no',
  ],
  ['a question makes it wait', runOf(), { type: 'asked', by: 'me', card: 'k' }, 'waiting pending me'],
  [
    'the same question is put once',
    runOf({ status: 'waiting', card: 'k' }),
    { type: 'asked', by: 'me', card: 'k' },
    'same',
  ],
  [
    'an answer has it go on',
    runOf({ status: 'waiting', card: 'k' }),
    { type: 'answered', by: 'me' },
    'running pending me',
  ],
  ['a step is skipped', runOf(), { type: 'skipped', by: 'me', step: 0, wallMs: 1, reason: 'no' }, 'running skipped me'],
  [
    'a step that ran is not skipped',
    runOf({}, running),
    { type: 'skipped', by: 'me', step: 0, wallMs: 1, reason: 'no' },
    'no',
  ],
  ['it ends', runOf(), { type: 'ended', by: 'me', status: 'done', wallMs: 1 }, 'done pending nobody'],
  [
    'it ends once',
    runOf({ status: 'done', ...nobody }),
    { type: 'ended', by: 'me', status: 'done', wallMs: 1 },
    'same',
  ],
  [
    'what ran when it was stopped is in doubt',
    runOf({}, running),
    { type: 'ended', by: 'me', status: 'aborted', wallMs: 1, end },
    'aborted in-doubt nobody',
  ],
  ['only its owner ends it', runOf({ owner: other }), { type: 'ended', by: 'me', status: 'done', wallMs: 1 }, 'no'],
  ['anybody cancels it', runOf({ owner: other }), { type: 'cancelled', wallMs: 1, end }, 'cancelled pending nobody'],
  ['what is over is not cancelled', runOf({ status: 'done', ...nobody }), { type: 'cancelled', wallMs: 1, end }, 'no'],
  ['its owner leaves it', runOf(), { type: 'released', by: 'me' }, 'running pending nobody'],
  ['its owner says that it lives', runOf(), { type: 'renewed', by: 'me', untilMs: 900 }, 'running pending me'],
  ['nobody else says so', runOf({ owner: other }), { type: 'renewed', by: 'me', untilMs: 900 }, 'no'],
  ['it is let start once', runOf({ admitted: true }), { type: 'admitted', by: 'me' }, 'same'],
];

describe('a run', () => {
  for (const [title, before, move, expected] of story) {
    test(title, () => {
      const kept = JSON.stringify(before);
      assert.equal(told(applyTransition(before, move), before), expected);
      assert.equal(JSON.stringify(before), kept, 'the state that was given is left as it was');
    });
  }

  test('approval for the run is kept once for the same rules', () => {
    const approved = { rules: ['one', 'two'], by: 'ann' };
    const once = applyTransition(runOf({ status: 'waiting' }), { type: 'answered', by: 'me', approved })!;
    assert.deepEqual(once.approved, [approved]);
    const twice = applyTransition(once, { type: 'answered', by: 'me', approved: { ...approved, by: 'bob' } })!;
    assert.deepEqual(twice.approved, [approved]);
    const more = applyTransition(once, { type: 'answered', by: 'me', approved: { rules: ['one'], by: 'bob' } })!;
    assert.equal(more.approved.length, 2);
  });

  test('the start of a step removes the question from the run', () => {
    const next = applyTransition(runOf({ status: 'waiting', card: 'k' }), begun)!;
    assert.equal(next.card, undefined);
    assert.equal(next.steps[0]?.startedWallMs, 5);
  });

  test('a resumed run has no end', () => {
    const next = applyTransition(runOf({ status: 'throttled', ...nobody, end, endedWallMs: 3 }), {
      ...takeOver,
      previousOwner: undefined,
    })!;
    assert.equal(next.end, undefined);
    assert.equal(next.endedWallMs, undefined);
  });
});

/** Two processes that do whatever comes to mind, in any order. */
const owners = ['p', 'q'].map((process): RunOwner => ({ process, untilMs: 0, pid: 1, machine: 'here' }));
const attempt = { by: fc.constantFrom('p', 'q'), step: fc.nat({ max: 1 }), attempt: fc.integer({ min: 1, max: 2 }) };
const wallMs = fc.constant(1);
const outputBytes = fc.constant(1);
const moveOf = <T extends string, R extends object>(
  type: T,
  rest: { [K in keyof R]: fc.Arbitrary<R[K]> },
  weight = 4,
) => ({
  arbitrary: fc.record({ type: fc.constant(type), ...rest } as never) as fc.Arbitrary<RunTransition>,
  weight,
});
const moves = fc.oneof(
  moveOf('taken', { owner: fc.constantFrom(...owners), previousOwner: fc.constantFrom(undefined, ...owners) }),
  moveOf('begun', { ...attempt, wallMs }, 12),
  moveOf('finished', { ...attempt, wallMs, outputBytes }),
  moveOf('failed', { ...attempt, wallMs, end: fc.constant(end) }, 1),
  moveOf('skipped', { ...attempt, wallMs, reason: fc.constant('no') }, 1),
  moveOf('resolved', { how: fc.constantFrom('done', 'redo'), outputBytes, wallMs }),
  moveOf('released', { by: attempt.by }, 1),
  moveOf('ended', { by: attempt.by, status: fc.constantFrom('done', 'aborted', 'throttled'), wallMs }, 1),
  moveOf('cancelled', { wallMs, end: fc.constant(end) }, 1),
);

test('whatever processes do, a step that may run once begins once for each time somebody wants it again', () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(fc.array(moves, { maxLength: 60 }), fc.boolean(), (sequence, idempotent) => {
      let run = runOf({ owner: owners[0]! }, {}, idempotent);
      const begins = [0, 0];
      const redos = [0, 0];
      for (const move of sequence) {
        const next = applyTransition(run, move);
        if (next === undefined || next === run) continue;
        reached.add(`${move.type} ${next.status}`);
        const at = run.steps.findIndex(({ status }) => status === 'in-doubt');
        if (move.type === 'begun') begins[move.step]!++;
        if (move.type === 'resolved' && move.how === 'redo') redos[at]!++;
        for (const [index, { status }] of run.steps.entries()) {
          if (status === 'done' || status === 'skipped') assert.equal(next.steps[index]?.status, status, 'it stays so');
        }
        if (isOver(run)) assert.equal(next.status, run.status, 'what is over stays over');
        const open = next.steps.filter(({ status }) => status === 'running' || status === 'in-doubt');
        assert.ok(open.length <= 1, 'one step at a time');
        if (next.status === 'in-doubt' || isOver(next)) assert.equal(next.owner, undefined, 'nobody has it');
        run = next;
      }
      if (idempotent) return;
      for (const step of [0, 1]) assert.ok(begins[step]! <= 1 + redos[step]!, `begun ${begins[step]} times`);
    }),
    { numRuns: 5_000, seed: 5 },
  );
  for (const what of [
    'taken in-doubt',
    'resolved running',
    'finished running',
    'failed failed',
    'cancelled cancelled',
  ]) {
    assert.ok(reached.has(what), `${what} was never reached`);
  }
});
