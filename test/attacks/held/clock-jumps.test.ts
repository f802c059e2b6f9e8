/** Wall clocks that jump under running processes: limits, breakers and budgets go by clocks that do not. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { createSwitchgear, isRefused } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';
import { collectOutput } from '../../harness/child-output.ts';
import { bin } from '../../harness/switchgear-bin.ts';
import { findProgram } from '../../services.ts';
import { type Attempts, byForm, holdAll, notTried } from './attempts.ts';

const jumps: Attempts<number> = [
  ['ten years on', 315_360_000],
  ['ten years back', -315_360_000],
  ['a minute on', 61],
  ['a minute back', -61],
];

test('held: a jump of the wall clock closes no breaker, frees no budget and ends no task', async (context) => {
  await holdAll(context, jumps, async (secs) => {
    const clock = simulatedClock();
    const policy = { budgets: [{ scope: 'project', unit: 'calls', limit: 5, window_secs: 3_600 }] } as const;
    const gear = createSwitchgear({ clock, policy, env: {}, log: 'silent', project: 'p' });
    const dead = gear.guard('dead', (): string => {
      throw new Error('x');
    });
    for (let at = 0; at < 5; at++) assert.throws(dead);
    clock.wallJump(secs * 1_000);
    assert.ok(isRefused(dead()), 'the breaker closed');
    const tool = gear.guard('tool', (at: number) => at);
    const result = await gear.task({}, (task) => {
      clock.wallJump(secs * 1_000);
      assert.equal(task.halt, undefined, 'the task ended');
      return Array.from({ length: 5 }, (_, at) => isRefused(tool(at)));
    });
    assert.ok(isRefused(tool(9)), `the budget is free again: ${JSON.stringify(result)}`);
  });
});

/** The library that moves the clock of a process, as its loader names it; undefined where it moves nothing. */
function preload(): string | undefined {
  if (findProgram('faketime') === undefined) return undefined;
  const asked = spawnSync('faketime', ['2020-01-01', 'sh', '-c', 'echo "$LD_PRELOAD"'], { encoding: 'utf8' });
  const library = asked.stdout.trim().replace('libfaketime.so', 'libfaketimeMT.so');
  const env = { LD_PRELOAD: library, FAKETIME: '+3650d' };
  const { stdout } = spawnSync(process.execPath, ['-p', 'Date.now()'], { env, encoding: 'utf8' });
  return Number(stdout) > Date.now() + 100_000_000_000 ? library : undefined;
}

test('held: hooks on a machine whose clock jumps keep the count and the open breaker', async (context) => {
  const library = preload();
  if (library === undefined) return notTried(context, 'a moved clock: faketime is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const moved = join(folder, 'moved');
  const env = {
    HOME: folder,
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}`,
    SWITCHGEAR_TASK_MAX_TOOL_CALLS: `${byForm(4, 1)}`,
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: moved,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  const hook = async (event: object): Promise<string> => {
    const child = spawn(process.execPath, [bin, 'hook', 'claude-code'], { cwd: folder, env, stdio: 'pipe' });
    const { out } = collectOutput(child);
    child.stdin.end(JSON.stringify({ session_id: 's', cwd: folder, ...event }));
    await new Promise((resolve) => child.on('close', resolve));
    return out();
  };
  const times = ['+0', '+3650d', '-3650d', '+1d', '-1h', '+0'].slice(0, byForm(6, 2));
  const limit = byForm(4, 1);
  let ran = 0;
  await holdAll(
    context,
    times.map((time, at) => [`call ${at} at ${time}`, { time, at }] as const),
    async ({ time, at }) => {
      writeFileSync(moved, `${time}\n`);
      const call = { tool_name: 'Bash', tool_input: { command: `echo ${at}` }, tool_use_id: `c${at}` };
      const answer = await hook({ hook_event_name: 'PreToolUse', ...call });
      if (!answer.includes('"deny"') && !answer.includes('"continue":false')) {
        ran++;
        await hook({ hook_event_name: 'PostToolUse', ...call, tool_response: { stdout: `said ${at * 7919}` } });
      }
      assert.ok(ran <= limit, `${ran} calls on a limit of ${limit}`);
    },
  );
  assert.equal(ran, limit);
});
