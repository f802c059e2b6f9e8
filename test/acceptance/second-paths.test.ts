/** Clauses on their second paths: outside a task, a second user, text and call as two events, another wait. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { supervisor } from '../../src/adapters/langgraph/supervisor.ts';
import { type HaltReason, SessionBreaker } from '../../src/compat/index.ts';
import { createSwitchgear, type Refusal, refusalOf } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { active } from '../clauses/session-breaker.ts';
import { worker } from '../clauses/supervised-gear.ts';

const cannot = 'I cannot list kitchens';

for (const withCalls of [true, false]) {
  test(`B5: similar progress lines ${withCalls ? 'with' : 'without'} calls leave the breaker awake`, () => {
    const halts: HaltReason[] = [];
    const { breaker } = active({}, { onHalt: (_, halt) => halts.push(halt) });
    for (let n = 1; n <= 50; n++) {
      breaker.observe({ type: 'assistant', text: `Processed item ${n} of 200, all good so far, continuing` });
      if (withCalls) breaker.observe({ type: 'tool_use', name: 'scrape' });
    }
    assert.equal(breaker.snapshot().tasks[0]?.halt, null);
    const last = withCalls
      ? breaker.observe({ type: 'tool_use', name: 'scrape' })
      : breaker.observe({ type: 'usage', usage: { output_tokens: 100_000_000 } });
    assert.equal(last?.kind, withCalls ? 'ToolCallLimit' : 'TokenSpendLimit');
    assert.deepEqual(halts, [last]);
    assert.deepEqual(breaker.snapshot().tasks[0]?.halt, last);
  });
}

test('B42: whatever an agent says, its task is counted until one of the five reasons ends it', () => {
  const { breaker, say } = active();
  const [a, b] = ['I will look at the file once more now.', 'Nothing there, trying the other folder then.'];
  for (let n = 0; n < 6; n++) say(a, b, `${a} ${n}`, b, `${b} ${n} again`);
  assert.equal(breaker.snapshot().tasks[0]?.halt, null);
  for (let n = 0; n < 50; n++) assert.equal(breaker.observe({ type: 'tool_use', name: 'look' }), null);
  assert.equal(breaker.observe({ type: 'tool_use', name: 'look' })?.kind, 'ToolCallLimit');
});

test('B27: turns of calls alone are no empty outputs, in a session breaker and in a task', () => {
  const { breaker } = active();
  const task = createSwitchgear({ log: 'silent', env: {} }).startTask();
  for (let turn = 1; turn <= 20; turn++) {
    for (const each of [breaker, task]) {
      assert.ok(!each.observe({ type: 'assistant', text: '' }));
      assert.ok(!each.observe({ type: 'assistant', text: ' ' }));
      assert.ok(!each.observe({ type: 'usage', usage: {}, inputTokens: 1 } as never));
      assert.ok(!each.observe({ type: 'tool_use', name: `read_${turn}`, id: `c${turn}` }));
    }
  }
});

test('B27: turns with neither words nor calls trip, in a session breaker and in a task', () => {
  const { breaker } = active();
  const task = createSwitchgear({ log: 'silent', env: {} }).startTask();
  for (const each of [breaker, task]) {
    each.observe({ type: 'tool_use', name: 'read', id: 'c' });
    const answers = Array.from({ length: 3 }, () => each.observe({ type: 'assistant', text: '' }));
    assert.deepEqual([answers[0] ?? null, answers[1] ?? null], [null, null]);
    assert.match(JSON.stringify(answers[2]), /OutputLoop|output_loop/);
  }
});

test('D1: outside a task a worker that failed twice is refused in the session of the gear', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ session: 'talk', clock, log: 'silent', env: {} });
  const chefs = worker(cannot);
  const entries: string[] = [];
  gear.onEntry(({ type }) => void entries.push(type));
  let last: unknown;
  for (let n = 0; n < 14; n++) {
    clock.advance(61_000);
    last = await gear.delegate('chef_team', chefs);
  }
  assert.equal(chefs.ran, 2);
  assert.deepEqual(gear.snapshot().delegations, { talk: { chef_team: 2 } });
  assert.equal(refusalOf(last)?.code, 'delegation_limit');
  assert.equal(entries.filter((type) => type === 'task-missing').length, 1);
  assert.equal(await gear.delegate('waiters', () => 'served'), 'served');
});

test('D43: the loop of fourteen ends after two: parallel, thrown, sync and without a session', async () => {
  const run = async (session: { session?: string }, work: () => unknown, inParallel: boolean) => {
    const gear = createSwitchgear({ ...session, log: 'silent', env: {} });
    let ran = 0;
    const counted = () => {
      ran++;
      return work();
    };
    const send = () => gear.delegate('chef_team', counted).catch(() => {});
    for (let n = 0; n < (inParallel ? 2 : 14); n++) await send();
    if (inParallel) await Promise.all(Array.from({ length: 12 }, send));
    return ran;
  };
  const fail = () => {
    throw new Error('no kitchen');
  };
  for (const session of [{ session: 'talk' }, {}]) {
    for (const inParallel of [true, false]) {
      assert.equal(await run(session, () => cannot, inParallel), 2);
      assert.equal(await run(session, async () => cannot, inParallel), 2);
      assert.equal(await run(session, fail, inParallel), 2);
      assert.equal(await run(session, async () => fail(), inParallel), 2);
    }
  }
});

test('D46: where no conversation is known, failures are forgotten 60 seconds after the last', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  const chefs = worker(cannot);
  for (let n = 0; n < 4; n++) await gear.delegate('chef_team', chefs);
  assert.equal(chefs.ran, 2);
  clock.advance(60_001);
  for (let n = 0; n < 4; n++) await gear.delegate('chef_team', chefs);
  assert.equal(chefs.ran, 4);
});

test('D41: a second user of a gear without a session does not inherit the failures of the first', async () => {
  const gear = createSwitchgear({ policy: { preset: 'delegation' }, log: 'silent', env: {} });
  const chefs = worker(cannot);
  const ask = (options = {}) =>
    gear.task(options, async () => {
      for (let n = 0; n < 4; n++) await gear.delegate('chef_team', chefs);
    });
  assert.equal((await ask()).status, 'halted');
  assert.equal(chefs.ran, 2);
  await ask();
  assert.equal(chefs.ran, 4);
  await Promise.all([ask(), ask()]);
  assert.equal(chefs.ran, 8);
  await ask({ session: 'known' });
  await ask({ session: 'known' });
  assert.equal(chefs.ran, 10);
  const sessions = await Promise.all([1, 2].map(() => gear.task({}, (task) => task.session)));
  assert.notEqual(...(sessions.map((each) => each.status === 'done' && each.value) as [string, string]));
});

/** The refusal of a tool whose breaker is open. */
function refusalFrom(answer: unknown): Refusal {
  return refusalOf(answer)!;
}

test('P11: the message has the wait of this opening, and the failures that were counted', () => {
  const clock = simulatedClock();
  const policy = { circuit_breaker: { recovery_factor: 2, failure_threshold: 2, open_on_retry_after: true } };
  const gear = createSwitchgear({ clock, policy, log: 'silent', env: {} });
  const guarded = (name: string, error: object) =>
    gear.guard(name, () => {
      throw Object.assign(new Error('down'), error);
    });
  const call = (tool: () => unknown) => {
    try {
      return tool();
    } catch {
      return undefined;
    }
  };
  const failing = guarded('failing', {});
  for (let n = 0; n < 2; n++) call(failing);
  assert.match(refusalFrom(call(failing)).remediation, /recovery_timeout \(60s\)/);
  clock.advance(60_000);
  call(failing);
  assert.match(refusalFrom(call(failing)).remediation, /recovery_timeout \(120s\)/);
  assert.match(refusalFrom(call(failing)).explanation, /keeps failing \(3 of 2\): refused, next try in 120s/);

  const busy = guarded('busy', { status: 429, retryAfterMs: 300_000 });
  call(busy);
  const asked = refusalFrom(call(busy));
  assert.match(asked.remediation, /\(300s\)/);
  assert.match(asked.explanation, /^busy asked to wait: refused, next try in 300s/);
  assert.equal(asked.counters.failures, 1);

  const tripped = gear.guard('tripped', () => 'well');
  call(tripped);
  gear.breaker('tripped').trip(clock.nowMs() + 7_000);
  const byHand = refusalFrom(call(tripped));
  assert.match(byHand.remediation, /\(7s\)/);
  assert.match(byHand.explanation, /^tripped was opened by hand: refused, next try in 7s/);
  assert.equal(byHand.counters.failures, 0);
  clock.advance(7_000);
  assert.equal(call(tripped), 'well');
});

test('B21: a halt by time reports more than its limit', () => {
  const { breaker, clock } = active({ maxIdleSecs: 300 });
  clock.advance(300_200);
  assert.deepEqual(breaker.sweep(), [
    { taskId: 'research', halt: { kind: 'IdleTimeout', idleSecs: 301, limitSecs: 300 } },
  ]);
});

test('B20: a halt by duration of a real clock reports more than its limit', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const result = await gear.task({ limits: { maxDurationSecs: 1 } }, async (task) => {
    while (task.halt === undefined && task.snapshot().durationMs < 60_000)
      await new Promise((resolve) => setTimeout(resolve, 20));
  });
  assert.equal(result.status, 'halted');
  assert.match(result.status === 'halted' ? result.halt.explanation : '', /running for [2-9]\d* s of 1 s/);
});

test('B5: a session breaker without options is awake after four similar lines', () => {
  using breaker = new SessionBreaker({}, { env: {}, log: 'silent' });
  breaker.observe({ type: '[heartbeat]', phase: 'starting', taskId: 't' });
  for (let n = 0; n < 50; n++) {
    breaker.observe({ type: 'assistant', text: `Step ${n} of 900 is done, the next step follows now` });
    assert.equal(breaker.observe({ type: 'tool_use', name: 'step' }), null);
  }
  assert.equal(breaker.observe({ type: 'tool_use', name: 'step' })?.kind, 'ToolCallLimit');
});

for (const kind of ['sync', 'async', 'promise'] as const) {
  test(`R29: refusals of ${kind} functions in one tick count once, one after the other each`, async () => {
    const gear = createSwitchgear({ log: 'silent', env: {} });
    const work = { sync: (n: number) => n, async: async (n: number) => n, promise: (n: number) => Promise.resolve(n) };
    const tool = gear.guard('search', work[kind]) as (n: number) => unknown;
    await tool(0);
    gear.breaker('search').trip();
    const burst = await gear.task({}, async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => tool(n)));
      return answers.map((answer) => refusalOf(answer)?.code);
    });
    assert.deepEqual(burst, { status: 'done', value: Array.from({ length: 20 }, () => 'circuit_open') });
    const equal = await gear.task({}, () => Promise.all(Array.from({ length: 20 }, () => tool(1))));
    assert.equal(equal.status, 'done');
    const insisting = await gear.task({}, async () => {
      for (let n = 0; n < 20; n++) await tool(n);
    });
    assert.equal(insisting.status === 'halted' && insisting.halt.code, 'denial_limit');
    const repeating = await gear.task({}, async () => {
      for (let n = 0; n < 20; n++) await tool(1);
    });
    assert.equal(repeating.status === 'halted' && repeating.halt.code, 'tool_loop');
  });
}

test('R29: a loop that never lets go is halted all the same', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const tool = gear.guard('search', (n: number) => n);
  tool(0);
  gear.breaker('search').trip();
  const result = await gear.task({}, (task) => {
    let n = 0;
    while (task.halt === undefined && n < 10_000) tool(n++);
    return n;
  });
  assert.equal(result.status, 'halted');
});

test('P9: a refusal after an internal error names the agent and the session', () => {
  const gear = createSwitchgear({ agent: 'ann', session: 'talk', log: 'silent', env: {} });
  const { refused } = gear.admit('search', [{}], { task: 'unknown' });
  assert.deepEqual([refused?.agent_name, refused?.session_id], ['ann', 'talk']);
  assert.equal(refusalOf(refused)?.code, 'internal_error');
});

test('D27: a worker of a graph that brings the same words to the same request has failed', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const failuresOf = async (...messages: readonly object[]) => {
    const team = supervisor({ gear, workers: ['chef_team', 'waiters'] });
    let state: Parameters<typeof team.next>[0] = { messages: [] };
    for (const [at, message] of messages.entries()) {
      state = { ...state, messages: [...(state.messages ?? []), { id: `m${at}`, ...message }] as never };
      const { update } = await team.next(state, () => undefined);
      const failures = team.failures.reducer(state.delegation_failures ?? {}, update.delegation_failures ?? {});
      const notes = team.notes.reducer(state.delegation_notes ?? {}, update.delegation_notes ?? {});
      state = { ...state, delegation_failures: failures, delegation_notes: notes };
    }
    return state.delegation_failures?.chef_team ?? 0;
  };
  const ask = (content: string) => ({ type: 'human', content });
  const answer = (content: string, name = 'chef_team') => ({ type: 'ai', name, content });
  const list = 'The kitchens are those of last year, see the list.';
  assert.equal(await failuresOf(ask('List the kitchens.'), answer(list), answer(list), answer(list)), 2);
  assert.equal(await failuresOf(ask('List.'), answer(list), answer('Served.', 'waiters'), answer(list)), 1);
  assert.equal(await failuresOf(ask('List.'), answer(list), ask('List.'), answer(list)), 1);
  assert.equal(await failuresOf(ask('Cook the soup.'), answer('Done.'), ask('Cook the fish.'), answer('Done.')), 0);
  assert.equal(await failuresOf(ask('Cook.'), answer('The soup is ready.'), answer('The fish is ready, too.')), 0);
});
