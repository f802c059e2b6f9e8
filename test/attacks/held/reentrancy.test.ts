/** Calls from inside calls, listeners and approvers; gears that are disposed and tasks that go on after their end. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused, refusalOf, type Switchgear, type Task } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';
import { type Attempts, holdAll } from './attempts.ts';

const plain = { agent: 'A', log: 'silent', env: {} } as const;
const limits = { maxToolCalls: 5 };

/** Calls until a call is refused; the number that ran. */
async function callUntilRefused(tool: (at: number) => unknown, most = 50): Promise<number> {
  for (let at = 0; at < most; at++) if (isRefused(await tool(at))) return at;
  return most;
}

async function haltedTask(gear: Switchgear): Promise<Task> {
  const tool = gear.guard('warm', (at: number) => at);
  const task = gear.startTask({ limits });
  await task.run(() => callUntilRefused(tool));
  assert.equal(task.halt?.code, 'tool_call_limit');
  return task;
}

const attacks: Attempts<() => Promise<unknown> | unknown> = [
  [
    'a tool that calls itself',
    async () => {
      const gear = createSwitchgear(plain);
      let ran = 0;
      const tool = gear.guard('self', async (level: number): Promise<unknown> => {
        ran++;
        return tool(level + 1);
      });
      const result = await gear.task({ limits }, () => tool(0));
      assert.deepEqual([ran, result.status], [5, 'halted']);
    },
  ],
  [
    'a sync tool that calls itself',
    async () => {
      const gear = createSwitchgear(plain);
      let ran = 0;
      const tool = gear.guard('self', (level: number): unknown => {
        ran++;
        return tool(level + 1);
      });
      await gear.task({ limits }, () => tool(0));
      assert.deepEqual([ran, gear.breaker('self').stats.inFlight], [5, 0]);
    },
  ],
  [
    'a listener that calls the tool',
    async () => {
      const gear = createSwitchgear({ ...plain, policy: { journal: { level: 'all' } } });
      let inner = 0;
      const tool = gear.guard('tool', (at: number) => at);
      const fromListener = gear.guard('inner', () => ++inner);
      gear.onEntry(() => {
        assert.equal(gear.currentTask(), undefined); // A listener belongs to no task, and spends nobody's calls.
        if (inner < 100) fromListener();
      });
      await gear.task({ limits }, async (task) => {
        assert.equal(await callUntilRefused(tool), 5);
        assert.equal(task.snapshot().toolCalls, 6);
      });
      assert.ok(inner >= 100);
    },
  ],
  [
    'a listener that throws',
    async () => {
      const gear = createSwitchgear({ ...plain, policy: { journal: { level: 'all' } } });
      gear.onEntry(() => {
        throw new Error('listener');
      });
      const tool = gear.guard('tool', (at: number) => at);
      await gear.task({ limits }, async () => assert.equal(await callUntilRefused(tool), 5));
    },
  ],
  [
    'a listener that disposes',
    async () => {
      const gear = createSwitchgear({ ...plain, policy: { journal: { level: 'all' } } });
      gear.onEntry(() => gear.dispose());
      const tool = gear.guard('tool', (at: number) => at);
      const ran = await gear.task({ limits }, () => callUntilRefused(tool)).catch(() => 0);
      assert.ok(ran === 0 || (typeof ran === 'object' && (ran.value ?? 0) <= 5));
    },
  ],
  [
    'an approver that calls the tool it is asked about',
    async () => {
      let ran = 0;
      let asked = 0;
      const gear: Switchgear = createSwitchgear({
        ...plain,
        approver: {
          name: 'eager',
          ask: async () => {
            if (asked++ < 5) await pay({ amount: 900 });
            return { approved: false, by: 'eager' };
          },
        },
        policy: { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' }] },
      });
      const pay = gear.guard('pay', async (_order: { amount: number }) => ++ran);
      await gear.task({}, () => pay({ amount: 900 }));
      assert.equal(ran, 0);
    },
  ],
  [
    'an approver that answers the card twice',
    async () => {
      let ran = 0;
      const gear: Switchgear = createSwitchgear({
        ...plain,
        approver: {
          name: 'twice',
          ask: async (card) => {
            gear.cards.answer(card.id, 'decline', 'ann');
            gear.cards.answer(card.id, 'approve', 'mallory');
            return { approved: true, by: 'mallory' };
          },
        },
        policy: { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' }] },
      });
      const pay = gear.guard('pay', async (_order: { amount: number }) => ++ran);
      assert.equal(refusalOf(await pay({ amount: 900 }))?.code, 'rule_declined');
      assert.equal(ran, 0);
    },
  ],
  [
    'dispose while a call runs',
    async () => {
      const gear = createSwitchgear(plain);
      const end = Promise.withResolvers<string>();
      const tool = gear.guard('slow', () => end.promise);
      const running = gear.task({}, () => tool());
      gear.dispose();
      end.resolve('result');
      assert.equal((await running).value, 'result');
    },
  ],
  [
    'dispose while a person is asked',
    async () => {
      let ran = 0;
      const asked = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<{ approved: boolean; by: string }>();
      const gear = createSwitchgear({
        ...plain,
        approver: {
          name: 'slow',
          ask: () => {
            asked.resolve();
            return answer.promise;
          },
        },
        policy: { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' }] },
      });
      const pay = gear.guard('pay', async (_order: { amount: number }) => ++ran);
      const pending = Promise.resolve(pay({ amount: 900 })).catch((error: unknown) => error);
      await asked.promise;
      gear.dispose();
      answer.resolve({ approved: false, by: 'ann' });
      await pending;
      assert.equal(ran, 0);
    },
  ],
  [
    'a halted task that goes on',
    async () => {
      const gear = createSwitchgear(plain);
      const task = await haltedTask(gear);
      let ran = 0;
      const other = gear.guard('other', () => ++ran);
      for (let at = 0; at < 20; at++) assert.ok(isRefused(task.run(other)));
      assert.equal(ran, 0);
    },
  ],
  [
    'a halted task that starts children',
    async () => {
      const gear = createSwitchgear(plain);
      const task = await haltedTask(gear);
      let ran = 0;
      const tool = gear.guard('inner', () => ++ran);
      await task.run(() => gear.task({}, () => tool())).catch(() => {});
      await task
        .run(() => gear.task({ limits: { maxToolCalls: 1_000 } }, () => gear.task({}, () => tool())))
        .catch(() => {});
      assert.equal(ran, 0);
    },
  ],
  [
    'a halted task that delegates',
    async () => {
      const gear = createSwitchgear(plain);
      const task = await haltedTask(gear);
      let ran = 0;
      const answer = await task.run(() => gear.delegate('worker', () => ++ran));
      assert.ok(isRefused(answer));
      assert.equal(ran, 0);
    },
  ],
  [
    'a halted task that says it is done and continues',
    async () => {
      const gear = createSwitchgear(plain);
      const task = await haltedTask(gear);
      task.resume();
      task.observe({ type: 'progress' });
      task.observe({ type: 'user', text: 'go on' });
      task.end('done');
      let ran = 0;
      assert.ok(isRefused(task.run(gear.guard('again', () => ++ran))));
      assert.equal(ran, 0);
    },
  ],
  [
    'calls of a task after its end',
    async () => {
      const gear = createSwitchgear(plain);
      let kept: Task | undefined;
      await gear.task({ limits }, (task) => {
        kept = task;
      });
      let ran = 0;
      const tool = gear.guard('late', () => ++ran);
      for (let at = 0; at < 20; at++) kept!.run(tool);
      assert.ok(ran <= 5, `${ran} calls ran after the end on a limit of 5`);
    },
  ],
  [
    'a timeout that the tool outlives',
    async () => {
      const clock = simulatedClock();
      const gear = createSwitchgear({ ...plain, clock });
      const ends: (() => void)[] = [];
      const tool = gear.guard('slow', () => new Promise<string>((resolve) => ends.push(() => resolve('late'))), {
        timeoutSecs: 1,
      });
      for (let at = 0; at < 5; at++) {
        const pending = tool().catch(() => 'timed out');
        await clock.elapse(2_000);
        assert.equal(await pending, 'timed out');
      }
      for (const end of ends) end();
      await clock.elapse(10);
      assert.deepEqual([gear.breaker('slow').state, gear.breaker('slow').stats.totalFailures], ['OPEN', 5]);
      assert.ok(isRefused(await tool()));
    },
  ],
  [
    'parallel calls past every limit',
    async () => {
      const gear = createSwitchgear(plain);
      let ran = 0;
      const tool = gear.guard('many', async (at: number) => {
        ran++;
        await null;
        return at;
      });
      await gear.task({ limits }, () => Promise.all(Array.from({ length: 200 }, (_, at) => tool(at))));
      assert.equal(ran, 5);
    },
  ],
];

test('held: a call from anywhere is one call, and a halted task stays halted', async (context) => {
  await holdAll(context, attacks, (attack) => attack());
});

test('held: `parent: null` starts a new task with limits of its own, and says so', async (context) => {
  await holdAll(context, [['parent null', null]], async () => {
    const gear = createSwitchgear(plain);
    await gear.task({ id: 'outer', limits }, async () => {
      await gear.task({ id: 'free', parent: null }, (task) => assert.equal(task.parent, undefined));
      await gear.task({ id: 'child' }, (task) => assert.equal(task.parent, 'outer'));
    });
  });
});
