/** Limits of model calls and of single tools, and a limit of tool calls that is switched off. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { maxTreeCallsOf } from '../../../src/core/controls/budget/budget.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import { createSwitchgear, type PolicyInput, refusalOf, type SwitchgearOptions } from '../../../src/index.ts';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { applyEnvironment } from '../../../src/policy/environment.ts';
import { tightenSettings } from '../../../src/policy/trust/tighten-settings.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';

const create = (policy: PolicyInput, options: SwitchgearOptions = {}) =>
  createSwitchgear({ policy, env: {}, log: 'silent', ...options });

test('max_model_calls halts the task at the next model call; tools do not count', async () => {
  const gear = create({ task: { max_model_calls: 3 } });
  const ask = gear.guard('gpt', async () => 'words', { kind: 'model' });
  const tool = gear.guard('tool', async (n: number) => n);
  let asked = 0;
  const result = await gear.task(async () => {
    for (let n = 0; n < 10; n++) {
      await tool(n);
      if (refusalOf(await ask()) === undefined) asked++;
    }
  });
  assert.equal(asked, 3);
  assert.ok(result.status === 'halted');
  assert.deepEqual([result.halt.code, result.halt.counters], ['model_call_limit', { actual: 4, limit: 3 }]);
});

test('parallel model calls never exceed the limit', async () => {
  const gear = create({ task: { maxModelCalls: 4 } });
  let running = 0;
  const ask = gear.guard('gpt', async () => void running++, { kind: 'model' });
  await gear.task(() => Promise.all(Array.from({ length: 20 }, () => ask())));
  assert.equal(running, 4);
});

test('model usage that a task only observes counts as model calls', async () => {
  const gear = create({ task: { max_model_calls: 2 } });
  const task = gear.startTask();
  const observe = () => task.observe({ type: 'usage', model: 'claude-sonnet-4', inputTokens: 10, outputTokens: 1 });
  observe();
  observe();
  const haltCode = () => task.halt?.code;
  assert.equal(haltCode(), undefined);
  observe();
  assert.equal(haltCode(), 'model_call_limit');
});

test('a guarded model call whose usage is observed counts once, and other usage still counts', async () => {
  const gear = create({ task: { max_model_calls: 3 } });
  const task = gear.startTask();
  const usage = { type: 'usage', model: 'claude-sonnet-4', inputTokens: 10, outputTokens: 1 } as const;
  const ask = gear.guard('gpt', async () => task.observe(usage), { kind: 'model' });
  const metered = gear.guard('gpt', async () => 'words', { kind: 'model', usage: () => usage });
  await task.run(async () => {
    await ask();
    await metered();
    task.observe(usage);
  });
  assert.equal(task.halt, undefined);
  assert.equal(task.snapshot().gauges.find(({ name }) => name === 'model_calls')?.actual, 3);
  task.observe(usage);
  assert.equal((task as { readonly halt?: { readonly code: string } }).halt?.code, 'model_call_limit');
});

test('tools.X.max_calls refuses the tool in this task, and the task goes on', async () => {
  const gear = create({ tools: { deploy: { max_calls: 2 }, 'mail.*': { max_calls: 1 } } });
  const ran: string[] = [];
  const tool = (name: string) => gear.guard(name, async (n: number) => void ran.push(`${name}${n}`));
  const [deploy, mail, read] = [tool('deploy'), tool('mail.send'), tool('read')];
  const work = async () => {
    const refusals = await Promise.all([deploy(1), deploy(2), deploy(3), mail(1), mail(2)]);
    await read(1);
    return refusals.map((each) => refusalOf(each)?.code);
  };
  const result = await gear.task(work);
  assert.ok(result.status === 'done');
  assert.deepEqual(result.value, [undefined, undefined, 'tool_limit', undefined, 'tool_limit']);
  assert.deepEqual(ran, ['deploy1', 'deploy2', 'mail.send1', 'read1']);
  const next = await gear.task(async () => refusalOf(await deploy(4)));
  assert.ok(next.status === 'done' && next.value === undefined, 'another task has calls of its own');
});

test('a limit from code holds like one from the policy', async () => {
  const gear = create({});
  const tool = gear.guard('tool', async (n: number) => n, { breaker: { maxCalls: 1 } });
  const result = await gear.task(async () => [await tool(1), refusalOf(await tool(2))?.code]);
  assert.ok(result.status === 'done');
  assert.deepEqual(result.value, [1, 'tool_limit']);
});

test('tools.X.max_calls_session counts all tasks of a session, and calls outside of tasks', async () => {
  const gear = create({ tools: { deploy: { max_calls_session: 3 } } }, { session: 'one' });
  let ran = 0;
  const deploy = gear.guard('deploy', async (_: number) => void ran++);
  for (let n = 0; n < 3; n++) await gear.task(() => Promise.all([deploy(n), deploy(n + 10)]));
  const outside = refusalOf(await deploy(99));
  assert.equal(ran, 3);
  assert.deepEqual([outside?.code, outside?.counters], ['tool_limit', { scope: 'session', actual: 4, limit: 3 }]);
  await gear.task({ session: 'two' }, () => deploy(1));
  assert.equal(ran, 4, 'another session has calls of its own');
});

test('on a shared store two processes of a session share the limit of a tool', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-tool-limit-'));
  const path = join(folder, 'state.db');
  const gears = [1, 2].map(() =>
    create({ tools: { deploy: { max_calls_session: 5 } } }, { session: 'one', store: sqliteStore({ path }) }),
  );
  context.after(() => {
    for (const gear of gears) gear.dispose();
    rmSync(folder, { recursive: true, force: true });
  });
  let ran = 0;
  const calls = gears.flatMap((gear) => {
    const deploy = gear.guard('deploy', async (_: number) => void ran++);
    return Array.from({ length: 6 }, (_, n) => gear.task(() => deploy(n)));
  });
  await Promise.all(calls);
  assert.equal(ran, 5);
});

test('max_tool_calls = "none" in a policy or in code; limits of delegated work stay', async () => {
  const gear = create({ task: { max_tool_calls: 'none' } });
  const tool = gear.guard('tool', async (n: number) => n);
  const result = await gear.task(async (task) => {
    for (let n = 0; n < 120; n++) await tool(n);
    return task.snapshot().toolCalls;
  });
  assert.ok(result.status === 'done');
  assert.equal(result.value, 120);
  const inCode = create({});
  const other = inCode.guard('tool', async (n: number) => n);
  const free = await inCode.task({ limits: { maxToolCalls: 'none' } }, async () => {
    for (let n = 0; n < 60; n++) await other(n);
  });
  assert.equal(free.status, 'done');
  assert.equal(maxTreeCallsOf(gear.settings.task), 500);
});

test('"none" is never taken from the environment, and waits in a found policy', () => {
  const { settings, ignored } = applyEnvironment(checkPolicy({}), { SWITCHGEAR_TASK_MAX_TOOL_CALLS: 'none' });
  assert.deepEqual([settings.task.maxToolCalls, ignored.length], [50, 1]);
  const off = checkPolicy({ task: { max_tool_calls: 'none' } }).settings;
  const { settings: held, waiting } = tightenSettings(defaultSettings, off);
  assert.deepEqual([held.task.maxToolCalls, waiting], [50, ['task.max_tool_calls']]);
  const limited = checkPolicy({ task: { max_model_calls: 5 }, tools: { x: { max_calls: 1, max_calls_session: 2 } } });
  assert.deepEqual(tightenSettings(defaultSettings, limited.settings).waiting, [], 'new limits tighten');
  const back = tightenSettings(limited.settings, defaultSettings).waiting;
  assert.ok(back.includes('task.max_model_calls') && back.includes('tools.x.max_calls'), back.join());
});

test('the preset "coding" has room for long runs, and limits', () => {
  const { task } = checkPolicy({ preset: 'coding' }).settings;
  assert.ok(task.maxToolCalls > 50 && task.maxToolCalls < 10_000);
  assert.equal(task.maxSpendCents, defaultSettings.task.maxSpendCents);
});
