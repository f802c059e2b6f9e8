/** What one event costs when there are many others: breakers, tasks, calls in the window, entries in the journal. */

import type { Clock } from '../../src/ports/clock.ts';
import type { Figures } from '../bench-runner.ts';
import { longTask } from './guard.ts';
import { fail, loadBreaker, loadGear, loadOpossum, succeed } from './library.ts';
import { type Call, type Shape, timeSides } from './slices.ts';

/** Arguments: what there is much of, and how much. Nanoseconds of one event, and of the bare call beside it. */
export async function flat([kind = '', number = '100']: readonly string[]): Promise<Figures> {
  const count = Number(number);
  switch (kind) {
    case 'breakers':
      return amongBreakers(count);
    case 'tools':
      return inGear(count, 0, 0);
    case 'tasks':
      return inGear(0, count, 0);
    case 'journal':
      return inGear(0, 0, count);
    case 'task-life':
      return lifeAmong(count, 0);
    case 'task-life-tools':
      return lifeAmong(0, count);
    case 'sweep':
      return sweepOf(count);
    case 'window':
      return afterCalls(count);
    case 'window-opossum':
      return afterOpossumCalls(count);
    default:
      throw new Error(`nothing is measured among many ${JSON.stringify(kind)}`);
  }
}

async function timed(call: Call, shape: Shape = 'await'): Promise<Figures> {
  const bare: Call = shape === 'catch' ? (at) => fail(at) : (at) => succeed(at);
  const [bareNs = 0, ns = 0] = await timeSides([
    { call: bare, shape: shape === 'sync' ? 'await' : shape },
    { call, shape },
  ]);
  return { bareNs, ns };
}

async function amongBreakers(count: number): Promise<Figures> {
  const { createBreaker } = await loadBreaker();
  const all = Array.from({ length: count }, () => createBreaker());
  const figures = await timed((at) => all[(at * 31) % 64]!.execute(succeed, at));
  if (all.length !== count) throw new Error('the breakers were thrown away');
  return figures;
}

/** A guarded call in a task of a gear that has so many other tools and tasks, and so long a journal. */
async function inGear(tools: number, tasks: number, entries: number): Promise<Figures> {
  const { createSwitchgear } = await loadGear();
  const policy = entries > 0 ? ({ journal: { level: 'all' } } as const) : {};
  const gear = createSwitchgear({ log: 'silent', env: {}, policy, clock: stillClock() });
  for (let at = 0; at < tools; at++) {
    const admission = gear.admit(`other-${at}`, []);
    if (admission.refused === undefined) admission.settle({ value: 1 });
  }
  for (let at = 1; at < tasks; at++) gear.startTask(); // The measured one is the last.
  const tool = gear.guard('wait', succeed); // Under another name the same call over and over would be ended.
  const result = await gear.task(longTask, async () => {
    for (let at = 0; at < entries / 2; at++) await tool(at);
    return timed((at) => tool(at));
  });
  if (result.status === 'halted') throw new Error(result.halt.message);
  return result.value;
}

async function lifeAmong(tasks: number, tools: number): Promise<Figures> {
  const { createSwitchgear } = await loadGear();
  const gear = createSwitchgear({ log: 'silent', env: {}, clock: stillClock() });
  for (let at = 1; at < tasks; at++) gear.startTask(); // The measured one is the last.
  for (let at = 0; at < tools; at++) {
    const admission = gear.admit(`other-${at}`, []);
    if (admission.refused === undefined) admission.settle({ value: 1 });
  }
  return timed(() => {
    const task = gear.startTask();
    task.end();
    return task;
  }, 'sync');
}

/** A clock of the machine whose timers never fire by themselves: no sweep falls into a slice. */
function stillClock(timers: (() => void)[] = []): Clock {
  return {
    nowMs: () => performance.now(),
    wallMs: () => Date.now(),
    after(_delayMs, run) {
      timers[0] = run;
      return () => {};
    },
  };
}

/** One look at every idle task, per task: this is what happens once a second. */
async function sweepOf(tasks: number): Promise<Figures> {
  const { createSwitchgear } = await loadGear();
  const timers: (() => void)[] = [];
  const gear = createSwitchgear({ log: 'silent', env: {}, clock: stillClock(timers) });
  for (let at = 0; at < tasks; at++) gear.startTask();
  const sweep = () => {
    timers[0]!();
    return timers;
  };
  const [pauseNs = 0] = await timeSides([{ call: sweep, shape: 'sync', calls: Math.ceil(20_000 / tasks) }]);
  return { ns: pauseNs / tasks, pauseMs: pauseNs / 1e6 };
}

/** A failing call after so many in a time window whose rate is looked at on every failure. */
async function afterCalls(count: number): Promise<Figures> {
  const { createBreaker } = await loadBreaker();
  const breaker = createBreaker({
    rateWindow: 'time',
    monitorWindowSecs: 3_600,
    failureRateThreshold: 1,
    minimumCalls: 1,
    failureThreshold: 1_000_000_000,
  });
  for (let at = 0; at <= count; at++) await breaker.execute(succeed, at);
  return timed((at) => breaker.execute(fail, at), 'catch');
}

async function afterOpossumCalls(count: number): Promise<Figures> {
  const CircuitBreaker = await loadOpossum();
  const work = async (at: number) => (at < 0 ? fail(at) : at);
  const breaker = new CircuitBreaker(work, {
    timeout: false,
    errorThresholdPercentage: 100,
    rollingCountTimeout: 600_000,
  });
  for (let at = 0; at <= count; at++) await breaker.fire(at);
  const [bareNs = 0, ns = 0] = await timeSides([
    { call: (at) => fail(at), shape: 'catch' },
    { call: () => breaker.fire(-1), shape: 'catch', calls: 3 },
  ]);
  return { bareNs, ns };
}
