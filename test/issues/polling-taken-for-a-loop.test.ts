/** A tool that is asked again after a while polls, whatever its name: only one that is asked at once spins. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { plainTextReader } from '../../src/agents/index.ts';
import { createSwitchgear, refusalOf, type Task } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { superviseRun } from '../agents/recording.ts';
import { bash, newSession } from '../hooks/hook-session.ts';

function poller(name = 'get_job') {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  const suspected: string[] = [];
  gear.on('loop-suspected', ({ message }) => void suspected.push(message));
  const ask = gear.guard(name, async (_id: number) => 'running');
  return { clock, gear, ask, suspected };
}

test('get_job every 15 s is neither refused nor halted, nor told to try something else', async () => {
  for (const everySecs of [5, 15]) {
    const { clock, gear, ask, suspected } = poller();
    const result = await gear.task({}, async (task) => {
      for (let n = 0; n < 40; n++) {
        assert.equal(await ask(7), 'running');
        assert.equal(task.hint(), undefined);
        clock.advance(everySecs * 1000);
      }
      return 'done';
    });
    assert.deepEqual([result.status, suspected], ['done', []]);
  }
});

test('a poller that says the same words each time, and one that sleeps by a tool, are no loops', async () => {
  const { clock, gear } = poller();
  const observe = (task: Task, id: string, name: string, output: string) => {
    assert.equal(task.observe({ type: 'tool_use', id, name, input: { id: 7 } }), undefined);
    assert.equal(task.observe({ type: 'tool_result', id, output }), undefined);
  };
  const narrating = gear.startTask();
  const sleeping = gear.startTask();
  for (let n = 0; n < 20; n++) {
    narrating.observe({ type: 'assistant', text: 'The job is still running, so I ask again in a while.' });
    observe(narrating, `a${n}`, 'get_job', 'running');
    observe(sleeping, `b${n}`, 'get_job', 'running');
    clock.advance(6_000);
    observe(sleeping, `c${n}`, 'Bash', '');
  }
  assert.deepEqual([narrating.halt, sleeping.halt], [undefined, undefined]);
});

test('the events of an agent under switchgear run are told apart by their time, too', () => {
  const play = (everyMs: number) => {
    const { account, accounting, clock } = superviseRun(plainTextReader());
    for (let n = 0; n < 20; n++) {
      account({ type: 'tool_use', id: `c${n}`, name: 'get_job', input: { id: 7 } });
      account({ type: 'tool_result', id: `c${n}`, ok: true, output: 'running' });
      clock.advance(everyMs);
    }
    return accounting.halt;
  };
  assert.equal(play(15_000), undefined);
  assert.equal(play(1_000)?.code, 'tool_loop');
  assert.match(play(1_000)?.explanation ?? '', /if it polls: \[loop\.tools\] get_job = "poll"$/);
});

test('hooks tell polling from spinning by the time between their processes', { timeout: 120_000 }, async (context) => {
  const hooks = newSession();
  context.after(hooks.clear);
  const ask = async (pollSecs: string, waitMs: number, command: string) => {
    const env = { SWITCHGEAR_LOOP_POLL_SECS: pollSecs };
    for (let n = 0; n < 10; n++) {
      const { pre, post } = bash(`${command}${n}`, command);
      const { output } = await hooks.send(pre, env);
      if (output?.hookSpecificOutput?.permissionDecision === 'deny') return output.hookSpecificOutput;
      await hooks.send({ ...post, tool_response: { stdout: 'running', stderr: '' } }, env);
      await sleep(waitMs);
    }
    return undefined;
  };
  assert.equal(await ask('0.1', 110, 'gh run view 7'), undefined);
  const refused = await ask('600', 0, 'gh run view 8');
  assert.match(refused?.permissionDecisionReason ?? '', /If you wait for it to change, ask again after 600 s\./);
});

test('a poller that asks too often is told to wait, and goes on when it does', async () => {
  const { clock, gear, ask } = poller('job_status');
  const result = await gear.task({}, async () => {
    let refused = 0;
    for (let n = 0; n < 40; n++) {
      const refusal = refusalOf(await ask(7));
      if (refusal !== undefined) {
        refused++;
        assert.equal(refusal.remediation, 'You ask too often: ask again after 5 s, and do something else until then.');
        assert.match(refusal.explanation, /; it may ask again every 5 s: poll_secs of \[loop\]$/);
        assert.ok(refusal.retryAtMs! > clock.nowMs());
      }
      clock.advance(4_000);
    }
    return refused;
  });
  assert.equal(result.status, 'done');
  assert.ok(result.status === 'done' && result.value > 0);
});

test('a tool that was refused for spinning answers again after the wait that its refusal names', async () => {
  const { clock, gear, ask } = poller();
  const result = await gear.task({}, async () => {
    for (let n = 0; n < 7; n++) assert.equal(await ask(7), 'running');
    const refusal = refusalOf(await ask(7));
    assert.match(refusal?.remediation ?? '', /ask again after 5 s\.$/);
    clock.advance(refusal!.retryAtMs! - clock.nowMs());
    return ask(7);
  });
  assert.deepEqual([result.status, result.value], ['done', 'running']);
});

test('quick cycles and quick repeats are still loops, and their cards name the setting', async () => {
  const play = async (calls: number, everyMs: number, tool = 'get_job') => {
    const { clock, gear, ask } = poller(tool);
    const result = await gear.task({}, async (task) => {
      for (let n = 0; n < 40 && task.halt === undefined; n++) {
        await ask(n % calls);
        clock.advance(everyMs);
      }
    });
    assert.equal(result.status, 'halted');
    return (
      gear
        .snapshot()
        .cards.find(({ kind }) => kind === 'halt')
        ?.evidence.join(' ') ?? ''
    );
  };
  assert.match(await play(1, 100), /refused_repeats of \[loop\] changes that/);
  assert.match(await play(3, 3_000), /refused calls in a row: 5 of 5/);
  assert.match(await play(1, 0, 'jobs.get'), /refused_repeats/);
});
