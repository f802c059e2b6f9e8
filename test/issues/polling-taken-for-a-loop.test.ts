/** A tool that is asked again after a wait polls, whatever its name: only one that is asked without a wait spins. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { plainTextReader } from '../../src/agents/index.ts';
import { createSwitchgear, refusalOf, type Task } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { superviseRun } from '../agents/recording.ts';
import { bash, newSession } from '../hooks/hook-session.ts';

function poller(name = 'get_job', policy: Readonly<Record<string, unknown>> = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy });
  const suspected: string[] = [];
  gear.on('loop-suspected', ({ message }) => void suspected.push(message));
  /** Asks; the call itself takes a while if told so. */
  const ask = gear.guard(name, async (_id: number, takesMs = 0) => {
    clock.advance(Number(takesMs));
    return 'running';
  });
  return { clock, gear, ask, suspected };
}

test('get_job is neither refused nor halted, nor told anything, if each call or each pause is a wait', async () => {
  for (const [takesMs, pauseMs] of [
    [5_000, 0],
    [15_000, 3_000],
    [0, 30_000],
  ] as const) {
    const { clock, gear, ask, suspected } = poller();
    const result = await gear.task({}, async (task) => {
      for (let n = 0; n < 40; n++) {
        assert.equal(await ask(7, takesMs), 'running');
        assert.equal(task.hint(), undefined);
        clock.advance(pauseMs);
      }
      return 'done';
    });
    assert.deepEqual([result.status, suspected], ['done', []]);
  }
});

test('a poller that says the same words each time, and one that sleeps by a tool, are no loops', async () => {
  const { clock, gear } = poller();
  const observe = (task: Task, id: string, name: string, output: string, tookMs: number) => {
    assert.equal(task.observe({ type: 'tool_use', id, name, input: { id: 7 } }), undefined);
    clock.advance(tookMs);
    assert.equal(task.observe({ type: 'tool_result', id, output }), undefined);
  };
  const narrating = gear.startTask();
  const sleeping = gear.startTask();
  for (let n = 0; n < 20; n++) {
    narrating.observe({ type: 'assistant', text: 'The job is still running, so I ask again in a while.' });
    observe(narrating, `a${n}`, 'get_job', 'running', 6_000);
    observe(sleeping, `b${n}`, 'get_job', 'running', 0);
    observe(sleeping, `c${n}`, 'Bash', '', 6_000);
  }
  assert.deepEqual([narrating.halt, sleeping.halt], [undefined, undefined]);
});

test('the events under switchgear run are told apart by the time of the call, not by that of the model', () => {
  const play = (takesMs: number, thinksMs: number) => {
    const { account, accounting, clock } = superviseRun(plainTextReader());
    let asked = 0;
    for (let n = 0; n < 20 && accounting.halt === undefined; n++) {
      account({ type: 'tool_use', id: `c${n}`, name: 'get_job', input: { id: 7 } });
      asked++;
      clock.advance(takesMs);
      account({ type: 'tool_result', id: `c${n}`, ok: true, output: 'running' });
      clock.advance(thinksMs);
    }
    return [asked, accounting.halt?.code, accounting.halt?.explanation];
  };
  assert.deepEqual(play(15_000, 0), [20, undefined, undefined]);
  for (const thinksMs of [0, 15_000]) {
    const explanation =
      "'get_job' was asked 12 times for something that is not ready; " +
      'if it is meant to be repeated: [loop.tools] get_job = "poll"';
    assert.deepEqual(play(1_000, thinksMs), [13, 'tool_loop', explanation]);
  }
});

test('hooks tell polling from spinning by the time of the call, not by that of the model', {
  timeout: 120_000,
}, async (context) => {
  const hooks = newSession();
  context.after(hooks.clear);
  const ask = async (pollSecs: string, command: string, { takesMs = 0, thinksMs = 0 }) => {
    const env = { SWITCHGEAR_LOOP_POLL_SECS: pollSecs };
    for (let n = 1; n <= 8; n++) {
      const { pre, post } = bash(`${command}${n}`, command);
      const { output } = await hooks.send(pre, env);
      const decision = output?.hookSpecificOutput;
      if (decision?.permissionDecision === 'deny') return [n, decision.permissionDecisionReason];
      await sleep(takesMs);
      await hooks.send({ ...post, tool_response: { stdout: 'the light is red', stderr: '' } }, env);
      await sleep(thinksMs);
    }
    return undefined;
  };
  assert.equal(await ask('0.1', 'gh run view 7', { takesMs: 110 }), undefined);
  const [times, reason] = (await ask('2', 'gh run view 8', { thinksMs: 20 })) ?? [];
  assert.equal(times, 6);
  assert.match(String(reason), /returned the same 5 times, with nothing new in between.*try something else/s);
});

test('a poller that never waits is told so the third time, and refused the thirteenth', async () => {
  for (const [name, everyMs] of [
    ['job_status', 4_000],
    ['get_job', 15_000],
  ] as const) {
    const { clock, gear, ask } = poller(name);
    const result = await gear.task({}, async (task) => {
      for (let n = 1; n <= 12; n++) {
        assert.equal(await ask(7), 'running');
        assert.equal(/Wait first, then ask/.test(task.hint() ?? ''), n === 3, `${name}, ${n}`);
        clock.advance(everyMs);
      }
      const refusal = refusalOf(await ask(7));
      assert.equal(refusal?.message, `Call refused: '${name}' was asked 12 times for something that is not ready`);
      assert.match(refusal?.remediation ?? '', /^Wait first, then ask: put the wait into the call itself/);
      assert.match(refusal?.explanation ?? '', new RegExp(`\\[loop\\.tools\\] ${name} = "poll"$`));
      clock.advance(refusal!.retryAtMs! - clock.nowMs());
      return ask(7);
    });
    assert.deepEqual([result.status, result.value], ['done', 'running']);
  }
});

test('quick cycles and quick repeats are still loops, and their cards name the setting', async () => {
  const play = async (calls: number, everyMs: number, tool = 'get_job') => {
    // A tool that is not known to read may change what the next call finds.
    const { clock, gear, ask } = poller(tool, { loop: { tools: { '*job*': 'read' } } });
    const result = await gear.task({}, async (task) => {
      for (let n = 0; n < 50 && task.halt === undefined; n++) {
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
  assert.match(await play(1, 100), /it came again although it was refused; .*\[loop.tools\] get_job = "poll"/);
  assert.match(await play(3, 3_000), /refused calls in a row: 5 of 5/);
  assert.match(await play(1, 0, 'jobs.get'), /it came again although it was refused/);
});
