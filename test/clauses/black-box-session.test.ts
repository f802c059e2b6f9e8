import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HaltReason, SessionBreaker, type SessionEvent } from '../../src/compat/index.ts';
import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { active, session } from './session-breaker.ts';

const call = { type: 'tool_use' } as const;
const million = { input_tokens: 1_000_000 };

test('B1: the same stream gives the same halts, from counts alone', () => {
  const play = () => {
    const { breaker, clock, beat, repeat, say } = active();
    const halts: unknown[] = [repeat(51, call)];
    beat('writer', 'starting');
    halts.push(say('again', 'again', 'again').at(-1));
    beat('idler', 'starting');
    clock.advance(400_000);
    halts.push(breaker.sweep());
    return halts;
  };
  const first = play();
  assert.deepEqual(first, play());
  assert.deepEqual(first, [
    { kind: 'ToolCallLimit', actual: 51, limit: 50 },
    { kind: 'OutputLoop', windowSize: 3, similarityJaccard: 1, threshold: 0.95 },
    [{ taskId: 'idler', halt: { kind: 'IdleTimeout', idleSecs: 301, limitSecs: 300 } }],
  ]);
});

test('B2: each session has its own breaker and counts', () => {
  const one = active({ maxToolCallsPerTask: 2 });
  const other = active({ maxToolCallsPerTask: 2 });
  assert.equal(one.repeat(3, call)?.kind, 'ToolCallLimit');
  assert.equal(other.repeat(2, call), null);
  assert.deepEqual([one.of('research')?.toolCalls, other.of('research')?.toolCalls], [3, 2]);
});

test('B3: the breaker observes assistant, tool_use, heartbeat and usage events', () => {
  const { breaker, clock, beat, say, of } = session();
  for (const type of ['[heartbeat]', 'heartbeat'] as const) {
    breaker.observe({ type, taskId: type, phase: 'starting' });
    assert.equal(breaker.snapshot().activeTasks.at(-1), type);
    beat(type, 'done');
  }
  beat('a', 'starting');
  clock.advance(60_000);
  assert.equal(of('a')?.idleSecs, 60);
  say('hello');
  assert.equal(of('a')?.idleSecs, 0);
  breaker.observe(call);
  breaker.observe({ type: 'usage', usage: million });
  assert.deepEqual([of('a')?.toolCalls, of('a')?.tokenSpendCents], [1, 300]);
});

test('B4: counters are per task', () => {
  const { breaker, beat, of } = session();
  beat('a', 'starting');
  beat('b', 'starting');
  for (const taskId of ['a', 'b', 'b']) breaker.observe({ type: 'tool_use', taskId });
  breaker.observe({ type: 'usage', usage: million, taskId: 'a' });
  assert.deepEqual([of('a')?.toolCalls, of('b')?.toolCalls], [1, 2]);
  assert.deepEqual([of('a')?.tokenSpendCents, of('b')?.tokenSpendCents], [300, 0]);
});

test('B5: a halt reason comes back when a threshold trips, and nothing before', () => {
  const { breaker } = active({ maxToolCallsPerTask: 2 });
  assert.deepEqual(
    [1, 2, 3].map(() => breaker.observe(call)),
    [null, null, { kind: 'ToolCallLimit', actual: 3, limit: 2 }],
  );
});

test('B6: everything happens in the call itself, and the state is plain data', () => {
  const { breaker, repeat } = active();
  const halt = repeat(51, call);
  assert.equal(halt?.kind, 'ToolCallLimit', 'in the same tick, and no promise');
  const snapshot = breaker.snapshot();
  assert.deepEqual(JSON.parse(JSON.stringify(snapshot)), snapshot);
});

/** Values that no caller should send. */
function hostile(): unknown[] {
  const throwing = new Proxy(
    {},
    {
      get() {
        throw new Error('hostile');
      },
    },
  );
  const round: Record<string, unknown> = {};
  round.self = round;
  const numbers = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1n];
  const rest = [null, undefined, true, '', 'x', Symbol('s'), [], {}, () => {}, Object.create(null), throwing, round];
  return [...numbers, ...rest];
}

test('B7: no public method throws on any input, and the breaker keeps working', () => {
  const { breaker, clock, beat, repeat } = active();
  for (const value of hostile()) {
    breaker.observe(value as SessionEvent);
    breaker.sweep(typeof value === 'number' && value > 0 ? undefined : (value as never));
    breaker.slugOf(value as HaltReason);
    for (const type of ['assistant', 'tool_use', 'usage', '[heartbeat]', value]) {
      for (const part of ['text', 'toolUse', 'name', 'id', 'usage', 'model', 'phase', 'taskId']) {
        breaker.observe({ type, [part]: value } as never);
        breaker.observe({ type, taskId: 'no-such-task', [part]: value } as never);
      }
      breaker.observe({ type, usage: { input_tokens: value, output_tokens: value } } as never);
    }
    new SessionBreaker({ maxToolCallsPerTask: value as number }, { clock, env: {}, log: 'silent' }).dispose();
  }
  beat('after', 'starting');
  assert.deepEqual(repeat(51, { ...call, taskId: 'after' }), { kind: 'ToolCallLimit', actual: 51, limit: 50 });
  assert.equal(breaker.snapshot().internalErrors > 0, true, 'what it swallowed can be seen');
});

test('B8: phase starting pushes the task and creates its bucket', () => {
  const { breaker, beat, of } = session();
  beat('a', 'starting');
  beat('b', 'starting');
  beat('a', 'starting');
  assert.deepEqual(breaker.snapshot().activeTasks, ['a', 'b'], 'a second start pushes nothing');
  assert.deepEqual([of('a')?.toolCalls, of('b')?.toolCalls], [0, 0]);
});

test('B9: phase done drops the bucket, wherever it is on the stack', () => {
  const { breaker, beat, of } = session();
  for (const taskId of ['a', 'b', 'c']) beat(taskId, 'starting');
  beat('b', 'done');
  assert.deepEqual(breaker.snapshot().activeTasks, ['a', 'c']);
  assert.equal(of('b'), undefined);
});

test('B10: phase error drops the bucket', () => {
  const { breaker, beat } = session();
  for (const taskId of ['a', 'b']) beat(taskId, 'starting');
  breaker.observe(call);
  beat('b', 'error');
  beat('b', 'starting');
  assert.deepEqual(
    breaker.snapshot().tasks.map(({ taskId, toolCalls }) => [taskId, toolCalls]),
    [
      ['a', 0],
      ['b', 0],
    ],
  );
});

test('B11: events without a task id go to the task on top of the stack', () => {
  const { beat, repeat, of } = session();
  beat('a', 'starting');
  repeat(2, call);
  beat('b', 'starting');
  repeat(3, call);
  beat('b', 'done');
  repeat(1, call);
  assert.equal(of('a')?.toolCalls, 3);
});

test('B12: duration and idle are checked by one timer, every second', () => {
  const halts: [number, string, string][] = [];
  const clock = simulatedClock();
  const onHalt = (taskId: string, { kind }: HaltReason) => void halts.push([clock.nowMs(), taskId, kind]);
  const { breaker, beat } = session({ maxIdleSecs: 5, maxTaskDurationSecs: 9 }, { clock, onHalt });
  beat('silent', 'starting');
  beat('busy', 'starting');
  assert.equal(clock.pending, 1);
  for (let second = 0; second < 12; second++) {
    clock.advance(1_000);
    beat('busy', 'working');
  }
  assert.deepEqual(halts, [
    [6_000, 'silent', 'IdleTimeout'],
    [10_000, 'busy', 'DurationLimit'],
  ]);
  for (const taskId of breaker.snapshot().activeTasks) beat(taskId, 'done');
  assert.equal(clock.pending, 0);
});

test('B38: the metadata of the card has the slug and the real counters', () => {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  const task = gear.startTask({ id: 'research' });
  for (let i = 0; i < 51; i++) task.observe({ type: 'tool_use', name: 'search' });
  const card = gear.snapshot().cards.find(({ kind }) => kind === 'halt');
  assert.deepEqual(
    [card?.task, card?.code, card?.counters],
    ['research', 'tool_call_limit', { actual: 51, limit: 50 }],
  );
  assert.deepEqual(card?.evidence, ['tool calls: 51 of 50']);
  const { breaker, repeat } = active();
  const halt = repeat(51, call);
  assert.deepEqual(halt && [breaker.slugOf(halt), halt], [
    'tool_call_limit',
    { kind: 'ToolCallLimit', actual: 51, limit: 50 },
  ]);
});

test('B43: the live snapshot has the active tasks with calls, spend, duration and idle time', () => {
  const { breaker, clock, beat, repeat } = session();
  beat('a', 'starting');
  clock.advance(30_000);
  beat('b', 'starting');
  repeat(2, call);
  breaker.observe({ type: 'usage', usage: million });
  clock.advance(12_000);
  const rest = { halt: null };
  assert.deepEqual(breaker.snapshot(), {
    activeTasks: ['a', 'b'],
    tasks: [
      { taskId: 'a', toolCalls: 0, tokenSpendCents: 0, durationSecs: 42, idleSecs: 42, ...rest },
      { taskId: 'b', toolCalls: 2, tokenSpendCents: 300, durationSecs: 12, idleSecs: 12, ...rest },
    ],
    ignoredEvents: 0,
    internalErrors: 0,
  });
});

test('B45: siblings without ids: the topmost gets calls and spend, clocks and heartbeats stay per task', () => {
  const { breaker, clock, beat, repeat, of } = session();
  beat('a', 'starting');
  clock.advance(10_000);
  beat('b', 'starting');
  repeat(3, call);
  breaker.observe({ type: 'usage', usage: million });
  clock.advance(20_000);
  beat('a', 'working');
  const rows = ['a', 'b'].map((id) => {
    const task = of(id);
    return [task?.toolCalls, task?.tokenSpendCents, task?.durationSecs, task?.idleSecs];
  });
  assert.deepEqual(rows, [
    [0, 0, 30, 0],
    [3, 300, 20, 20],
  ]);
});

test('B46: siblings with ids: every task gets its own events', () => {
  const { breaker, beat, repeat, of } = session();
  for (const taskId of ['a', 'b', 'c']) beat(taskId, 'starting');
  for (let i = 0; i < 20; i++) for (const taskId of ['a', 'b', 'c']) breaker.observe({ ...call, taskId });
  breaker.observe({ type: 'usage', usage: million, taskId: 'b' });
  assert.deepEqual(
    ['a', 'b', 'c'].map((id) => [of(id)?.toolCalls, of(id)?.tokenSpendCents]),
    [
      [20, 0],
      [20, 300],
      [20, 0],
    ],
  );
  assert.equal(repeat(30, { ...call, taskId: 'a' }), null, 'sixty calls of all are no reason to stop one');
  assert.equal(repeat(1, { ...call, taskId: 'a' })?.kind, 'ToolCallLimit');
});
