/** What happens at a limit: the task halts, ends with an error, or a person is asked to raise the limit. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { replay } from '../../../src/core/replay/replay.ts';
import {
  type Approver,
  createSwitchgear,
  type Entry,
  haltOf,
  type PolicyInput,
  type QuestionCard,
  RefusedError,
  refusalOf,
  type SwitchgearOptions,
} from '../../../src/index.ts';
import { parsePolicy } from '../../../src/policy/index.ts';
import { tightenSettings } from '../../../src/policy/trust/tighten-settings.ts';

const create = (policy: PolicyInput, options: SwitchgearOptions = {}) =>
  createSwitchgear({ policy, env: {}, log: 'silent', ...options });

/** An approver with prepared answers; a question without one is declined. */
function answering(...answers: readonly boolean[]): Approver & { readonly cards: QuestionCard[] } {
  const cards: QuestionCard[] = [];
  return {
    name: 'ann',
    cards,
    async ask(card) {
      cards.push(card);
      return { approved: answers[cards.length - 1] ?? false, by: 'ann' };
    },
  };
}

test('at_limit = "error": gear.task rejects with the halt, with the error of the function as its cause', async () => {
  const gear = create({ task: { max_tool_calls: 2, at_limit: 'error' } });
  const tool = gear.guard('tool', async (n: number) => n);
  const calls = async () => {
    for (let n = 0; n < 5; n++) await tool(n);
  };
  const isHalt = (error: unknown) => {
    assert.ok(error instanceof RefusedError);
    assert.deepEqual([haltOf(error)?.kind, haltOf(error)?.code], ['halt', 'tool_call_limit']);
    return true;
  };
  await assert.rejects(gear.task(calls), isHalt);
  const own = new Error('gave up');
  const failing = gear.task(async () => {
    await calls();
    throw own;
  });
  await assert.rejects(failing, (error: Error) => isHalt(error) && error.cause === own);
  await assert.rejects(
    gear.task(async () => {
      throw own;
    }),
    own,
  );
  assert.equal((await gear.task(async () => 'fine')).status, 'done');
});

test('at_limit = "error" is about limits: an operator halts as before', async () => {
  const gear = create({ task: { at_limit: 'error' } });
  const result = await gear.task(async (task) => gear.halt(task.id, 'enough'));
  assert.equal(result.status, 'halted');
});

test('at_limit = "ask": a yes doubles the limit for this task, at most three times', async () => {
  const approver = answering(true, true, true, true);
  const gear = create({ task: { max_tool_calls: 2, at_limit: 'ask' } }, { approver });
  let ran = 0;
  const tool = gear.guard('tool', async (_: number) => void ran++);
  const work = async () => {
    for (let n = 0; n < 40; n++) await tool(n);
  };
  const result = await gear.task(work);
  assert.equal(ran, 16);
  assert.ok(result.status === 'halted');
  assert.deepEqual(result.halt.counters, { actual: 17, limit: 16 });
  assert.equal(approver.cards.length, 3);
  assert.match(
    approver.cards[0]!.evidence.join('\n'),
    /reached a limit.*3 of 2[\s\S]*task\.max_tool_calls.* from 2 to 4/,
  );
  assert.equal(gear.retryOptions(result.halt.task!), undefined, 'it was raised three times');
  ran = 0;
  assert.equal((await gear.task(async () => void (await tool(1)))).status, 'done', 'another task has its own limit');
});

test('at_limit = "ask": a no, no answer and no approver halt the task before the call', async () => {
  for (const approver of [answering(false), undefined]) {
    const gear = create({ task: { max_tool_calls: 2, at_limit: 'ask' } }, approver && { approver });
    let ran = 0;
    const tool = gear.guard('tool', async (_: number) => void ran++);
    const result = await gear.task(async () => {
      for (let n = 0; n < 9; n++) await tool(n);
    });
    assert.equal(ran, 2);
    assert.equal(haltOf(result)?.code, 'tool_call_limit');
    assert.ok((approver?.cards.length ?? 1) === 1, 'asked once');
  }
});

test('a synchronous call cannot wait, so it halts the task', async () => {
  const approver = answering(true);
  const gear = create({ task: { max_tool_calls: 1, at_limit: 'ask' } }, { approver });
  const tool = gear.guard('tool', (n: number) => n);
  const result = await gear.task(() => [tool(1), tool(2)]);
  assert.equal(haltOf(result)?.code, 'tool_call_limit');
  assert.equal(approver.cards.length, 0);
});

test('parallel calls at the limit share one question, and none runs before the answer', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  let questions = 0;
  const approver: Approver = {
    name: 'ann',
    async ask() {
      questions++;
      isAsked();
      await answered;
      return { approved: true, by: 'ann' };
    },
  };
  const gear = create({ task: { max_tool_calls: 4, at_limit: 'ask' } }, { approver });
  let ran = 0;
  const tool = gear.guard('tool', async (_: number) => void ran++);
  const result = await gear.task(async () => {
    const calls = Array.from({ length: 7 }, (_, n) => tool(n));
    await asked;
    assert.equal(ran, 4);
    answer();
    await Promise.all(calls);
  });
  assert.deepEqual([result.status, ran, questions], ['done', 7, 1]);
});

/** 600 tokens and 60 cents. */
const usage = () => ({ model: 'claude-sonnet-4', inputTokens: 600, outputTokens: 0, costUsd: 0.6 });

test('model calls, tokens and money are asked about', async () => {
  const limits = [
    { max_model_calls: 2, at_limit: 'ask' },
    { max_tokens: 1000, at_limit: 'ask' },
    { max_spend_cents: 100, at_limit: 'ask' },
  ] as const;
  for (const task of limits) {
    const approver = answering(true);
    const gear = create({ task }, { approver });
    const model = gear.guard('claude-sonnet-4', async () => 'words', { kind: 'model', usage });
    let ran = 0;
    const result = await gear.task(async () => {
      for (let n = 0; n < 9; n++) if (refusalOf(await model()) === undefined) ran++;
    });
    assert.equal(ran, 4, JSON.stringify(task));
    assert.deepEqual([result.status, approver.cards.length], ['halted', 2]);
  }
});

test('usage that a task observes is asked about at once, and a no halts it without another call', async () => {
  const approver = answering(true, false);
  const gear = create({ task: { max_tokens: 1000, at_limit: 'ask' } }, { approver });
  const result = await gear.task(async (task) => {
    const use = () => task.observe({ type: 'usage', model: 'claude-sonnet-4', inputTokens: 700, outputTokens: 0 });
    use();
    use();
    await new Promise(setImmediate);
    assert.equal(task.halt, undefined);
    assert.deepEqual(task.snapshot().gauges.find(({ name }) => name === 'tokens')?.limit, 2000);
    use();
    await new Promise(setImmediate);
  });
  assert.deepEqual([haltOf(result)?.code, approver.cards.length], ['token_limit', 2]);
});

test('one answer raises the money of a child task and of its parent with the same limit', async () => {
  const approver = answering(true);
  const gear = create({ task: { max_tokens: 1000, at_limit: 'ask' } }, { approver });
  const model = gear.guard('claude-sonnet-4', async () => 'words', { kind: 'model', usage });
  const result = await gear.task(() => gear.task(async () => [await model(), await model(), await model()]));
  assert.deepEqual([result.status, approver.cards.length], ['done', 1]);
});

test('the limit of one tool is asked about; a no refuses the tool for good and asks no more', async () => {
  const approver = answering(true, false);
  const gear = create({ task: { at_limit: 'ask' }, tools: { deploy: { max_calls: 1 } } }, { approver });
  let ran = 0;
  const deploy = gear.guard('deploy', async (_: number) => void ran++);
  const result = await gear.task(async () => {
    const codes: unknown[] = [];
    for (let n = 0; n < 5; n++) codes.push(refusalOf(await deploy(n))?.code);
    return codes;
  });
  assert.ok(result.status === 'done');
  assert.deepEqual(result.value, [undefined, undefined, 'tool_limit', 'tool_limit', 'tool_limit']);
  assert.deepEqual([ran, approver.cards.length], [2, 2]);
});

test('a limit is asked about before a rule is; the approval of a limit approves no call', async () => {
  const approver = answering(true, false);
  const rules = [{ target: 'send', condition: 'ability:send', action: 'confirm', reason: 'mail is final' }] as const;
  const gear = create({ task: { max_tool_calls: 1, at_limit: 'ask' }, rules }, { approver });
  const [send, read] = [gear.guard('send', async () => 'sent'), gear.guard('read', async () => 'text')];
  const result = await gear.task(async () => [await read(), await send()]);
  assert.ok(result.status === 'done');
  assert.equal(refusalOf(result.value[1])?.code, 'rule_declined');
  assert.match(approver.cards[0]!.evidence[0]!, /reached a limit/);
  assert.match(approver.cards[1]!.evidence[0]!, /wants to call send/);
});

test('a time limit halts without a question', async () => {
  const approver = answering(true);
  const gear = create({ task: { max_duration_secs: 0.02, at_limit: 'ask' } }, { approver });
  const result = await gear.task((task) => new Promise((resolve) => task.signal.addEventListener('abort', resolve)));
  assert.deepEqual([haltOf(result)?.code, approver.cards.length], ['duration_limit', 0]);
});

test('the journal says who raised a limit, and a replay repeats every decision', async () => {
  const entries: Entry[] = [];
  const policy = { task: { max_tool_calls: 2, at_limit: 'ask' }, journal: { level: 'all' } } as const;
  const gear = create(policy, { approver: answering(true, false) });
  gear.onEntry((entry) => void entries.push(entry));
  const tool = gear.guard('tool', async (n: number) => n);
  await gear.task(async () => {
    for (let n = 0; n < 6; n++) await tool(n);
  });
  const raised = entries.find(({ type }) => type === 'limit-raised');
  assert.ok(raised?.type === 'limit-raised');
  assert.deepEqual([raised.setting, raised.before, raised.limit, raised.by], ['maxToolCalls', 2, 4, 'ann']);
  assert.deepEqual(replay(entries, gear.settings).differences, []);
});

test('a found policy may choose between close and error; ask waits for trust', () => {
  const settings = (word: string) => parsePolicy(`[task]\nat_limit = "${word}"\n`, 'switchgear.toml').settings;
  const outcome = (base: string, found: string) => {
    const { settings: held, waiting } = tightenSettings(settings(base), settings(found));
    return [held.task.atLimit, waiting.length];
  };
  assert.deepEqual(outcome('close', 'error'), ['error', 0]);
  assert.deepEqual(outcome('error', 'close'), ['close', 0]);
  assert.deepEqual(outcome('close', 'ask'), ['close', 1]);
  assert.deepEqual(outcome('ask', 'error'), ['error', 0]);
});
