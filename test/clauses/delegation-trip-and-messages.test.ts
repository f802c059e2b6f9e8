import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delegationPolicyPrompt, MAX_DELEGATION_FAILURES } from '../../src/compat/index.ts';
import { refusalOf, type Switchgear } from '../../src/index.ts';
import { supervised, worker } from './supervised-gear.ts';

const inability = 'I do not have ability to list kitchens';
/** The preset with which a trip ends the run. */
const ending = { policy: { preset: 'delegation' } } as const;

/** Sends work to one worker, as often as there are answers; an error is thrown by it. Gives back how the task ended. */
function play(gear: Switchgear, answers: readonly unknown[], name = 'chef_team') {
  return gear.task({}, async () => {
    const heard: unknown[] = [];
    for (const answer of answers) {
      const run = async () => {
        if (answer instanceof Error) throw answer;
        return answer;
      };
      heard.push(await gear.delegate(name, run).catch((error: Error) => error.message));
    }
    return heard;
  });
}

/** What a person and a model read when the same answer has tripped the breaker. */
async function tripped(answer: unknown) {
  const { gear } = supervised(ending);
  const result = await play(gear, [answer, answer]);
  return result.status === 'halted' ? result.halt : undefined;
}

test('D31: the user reads of the safety limit, the worker, the limit and what to do', async () => {
  assert.equal(
    (await tripped(inability))?.explanation,
    '\u26a0\ufe0f Safety limit reached: chef_team has failed 2+ times. ' +
      'I cannot complete this request with current tools. Please try a different approach or contact support.',
  );
});

test('D32: there is a short form: the limit is reached, try a different approach', async () => {
  assert.match((await tripped(inability))?.remediation ?? '', /^Safety limit reached\. Try different approach\./);
});

test('D33: failures that were connection timeouts give a hint at the cause', async () => {
  const halt = await tripped(new Error('Neo4j connection timeout'));
  assert.match(halt?.explanation ?? '', /2\+ times\. Database may be down\. I cannot/);
  assert.match(halt?.remediation ?? '', /^Safety limit reached\. Database may be down\./);
  assert.doesNotMatch((await tripped(inability))?.explanation ?? '', /may be down/);
});

/** The lines that two failures of a worker write. */
async function linesOfTwo(): Promise<string[]> {
  const lines: string[] = [];
  const { gear } = supervised({ ...ending, log: (text) => lines.push(...text.split('\n')) });
  await play(gear, [inability, inability]);
  return lines;
}

test('D34: each failure is logged with worker, attempt and limit, and in the next line its reason', async () => {
  const lines = await linesOfTwo();
  for (const attempt of [1, 2]) {
    const at = lines.indexOf(`\u26a0\ufe0f  DELEGATION FAILURE: chef_team failed (attempt #${attempt}, limit: 2)`);
    assert.notEqual(at, -1, `attempt ${attempt}`);
    assert.equal(lines[at + 1], `   Reason: Worker reported limitation: ${inability}`);
  }
});

test('D35: the trip is logged with a red mark, worker, count, limit and that delegation stops', async () => {
  const trip = '\u{1f534} CIRCUIT BREAKER: chef_team has failed 2 times (limit: 2). Stopping delegation.';
  assert.equal((await linesOfTwo()).filter((line) => line === trip).length, 1);
});

test('D36: counts can be read from the state and from the trace', async () => {
  const { gear } = supervised();
  await play(gear, [inability, 'done', inability]);
  await play(gear, [inability], 'visualization');
  assert.deepEqual({ ...gear.snapshot().delegations.s }, { chef_team: 2, visualization: 1 });
  const trace = gear.journal().flatMap((entry) => (entry.type === 'delegation-returned' ? [entry] : []));
  assert.deepEqual(
    trace.map(({ worker, failed, actual, limit }) => [worker, failed, actual, limit]),
    [
      ['chef_team', true, 1, 2],
      ['chef_team', false, 1, 2],
      ['chef_team', true, 2, 2],
      ['visualization', true, 1, 2],
    ],
  );
});

test('D37: the first failure is recorded and a retry allowed', async () => {
  const { gear, failures } = supervised();
  const result = await play(gear, [inability, 'a list']);
  assert.deepEqual(result, { status: 'done', value: [inability, 'a list'] });
  assert.equal(failures('chef_team'), 1);
});

test('D38: the second failure is recorded and trips the breaker', async () => {
  const ended = supervised(ending);
  assert.equal((await play(ended.gear, [inability, inability])).status, 'halted');
  assert.equal(ended.failures('chef_team'), 2);
  const { gear, failures } = supervised();
  const result = await play(gear, [inability, inability, 'a list']);
  const heard = result.status === 'done' ? result.value : [];
  assert.equal(refusalOf(heard[2])?.code, 'delegation_limit', 'by default the worker is refused, and the run goes on');
  assert.equal(failures('chef_team'), 2);
});

test('D39: there is no third attempt and the run ends', async () => {
  const { gear } = supervised(ending);
  const chefs = worker(inability);
  const result = await gear.task({}, async (root) => {
    await gear.task({}, async (nested) => {
      for (let i = 0; i < 5; i++) await gear.delegate('chef_team', chefs);
      assert.equal(nested.halt?.code, 'delegation_limit');
    });
    return root.halt?.code;
  });
  assert.equal(chefs.ran, 2);
  assert.deepEqual([result.status, result.value], ['halted', 'delegation_limit'], 'the root ends, not a part of it');
});

test('D40: in a hierarchy a failure counts once, on the worker and not on its team', async () => {
  const { gear } = supervised(ending);
  const ask = () =>
    gear.delegate('chef_team', () =>
      gear.delegate('recipe_agent', () => Promise.reject(new Error('Neo4j connection timeout'))),
    );
  const result = await gear.task({}, async () => {
    await ask().catch(() => {});
    assert.deepEqual({ ...gear.snapshot().delegations.s }, { recipe_agent: 1 });
    await ask().catch(() => {});
  });
  assert.deepEqual({ ...gear.snapshot().delegations.s }, { recipe_agent: 2 });
  const halt = result.status === 'halted' ? result.halt : undefined;
  assert.match(halt?.explanation ?? '', /recipe_agent has failed 2\+ times\. Database may be down\./);
});

test('D41: a success after one failure leaves the counter at 1 and trips nothing', async () => {
  const { gear, failures } = supervised();
  const result = await play(gear, [new Error('temporary'), 'a chart', 'another', 'and another'], 'visualization');
  assert.equal(result.status, 'done');
  assert.equal(failures('visualization'), 1);
});

test('D42: the prompt of every supervisor states the policy, with the number in force', () => {
  const prompt = delegationPolicyPrompt(MAX_DELEGATION_FAILURES);
  for (const line of [
    'CIRCUIT BREAKER POLICY (SYSTEM-WIDE):',
    '- Maximum of 2 failed delegations per worker',
    '- Applies to ALL delegations: subagents AND tool calls',
    '- After 2 failures, circuit breaker trips',
    '- Failure = error/limitation OR tool fails OR task incomplete',
    'TERMINATE when circuit breaker trips.',
  ]) {
    assert.equal(prompt.includes(line), true, line);
  }
  assert.match(delegationPolicyPrompt(3), /Maximum of 3 failed delegations/);
});

test('D43: a delegation loop that ran 14 times ends after 2 failures', async () => {
  const { gear } = supervised();
  const chefs = worker('I cannot list kitchens');
  await gear.task({}, async () => {
    for (let i = 0; i < 14; i++) await gear.delegate('chef_team', chefs);
  });
  assert.equal(chefs.ran, 2);
});

test('D44: single tools have limits of their own', async () => {
  const { gear } = supervised({
    policy: { delegation: { worker_limits: { search_recipes: 2, get_recipe_details: 1 } } },
  });
  const ran: Record<string, number> = {};
  for (const name of ['search_recipes', 'get_recipe_details', 'list_recipes']) {
    const tool = gear.guard(name, async () => {
      ran[name] = (ran[name] ?? 0) + 1;
      throw new Error('no index');
    });
    await gear.task({ session: name }, async () => {
      for (let i = 0; i < 4; i++) await tool().catch(() => {});
    });
  }
  assert.deepEqual(ran, { search_recipes: 2, get_recipe_details: 1, list_recipes: 4 });
});

test('D45: with backoff the wait before a retry doubles with every failure', async () => {
  const { gear, clock } = supervised({ policy: { delegation: { backoff: true, max_failures: 4 } } });
  const atSecs: number[] = [];
  const done = gear.task({}, async () => {
    for (let i = 0; i < 4; i++) {
      await gear.delegate('chef_team', () => {
        atSecs.push(clock.nowMs() / 1000);
        return inability;
      });
    }
  });
  await clock.elapse(60_000);
  await done;
  assert.deepEqual(atSecs, [0, 2, 2 + 4, 2 + 4 + 8]);
});

test('D46: with a reset time the counter is cleared once the last failure is older', async () => {
  const { gear, clock, failures } = supervised({
    policy: { ...ending.policy, delegation: { reset_after_secs: 60 } },
  });
  await play(gear, [inability]);
  await clock.elapse(60_001);
  assert.equal((await play(gear, [inability, 'fine'])).status, 'done');
  assert.equal(failures('chef_team'), 1);
  await clock.elapse(60_000);
  assert.equal(
    (await play(gear, [inability])).status,
    'halted',
    'a minute to the millisecond is not more than a minute',
  );
});

test('D47: on a trip the work is routed to a different worker', async () => {
  const { gear } = supervised({
    policy: { delegation: { alternatives: { chef_team: 'concierge' } } },
  });
  const sent: string[] = [];
  const result = await gear.task({}, async () => {
    let chosen = 'chef_team';
    for (let i = 0; i < 4; i++) {
      const value = await gear.delegate(chosen, () => {
        sent.push(chosen);
        return chosen === 'concierge' ? 'Two kitchens.' : inability;
      });
      if (value === 'Two kitchens.') return value;
      chosen = String(refusalOf(value)?.counters.alternative ?? chosen);
    }
    return 'nothing';
  });
  assert.deepEqual(sent, ['chef_team', 'chef_team', 'concierge']);
  assert.deepEqual(result, { status: 'done', value: 'Two kitchens.' });
});
