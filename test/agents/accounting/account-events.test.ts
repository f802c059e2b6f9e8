/** What is booked on tasks, and what is not: once, on whom it belongs to, and never because of silence that is none. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AgentEvent,
  accountEvents,
  claudeCodeReader,
  geminiReader,
  opencodeReader,
  plainTextReader,
  readerFor,
} from '../../../src/agents/index.ts';
import { markEvents } from '../../../src/agents/reading/event-source.ts';
import type { PolicyDocument } from '../../../src/index.ts';
import { type SupervisedRun, superviseRun } from '../recording.ts';

const run = (policy?: PolicyDocument) => superviseRun(plainTextReader(), policy);
const use = (id: string, name = 'Bash', input: unknown = { command: id }): AgentEvent => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const back = (id: string, ok = true, output: unknown = `output of ${id}`): AgentEvent => ({
  type: 'tool_result',
  id,
  ok,
  output,
});
const usage = (id: string, inputTokens: number, outputTokens: number, more = {}): AgentEvent => ({
  type: 'usage',
  id,
  model: 'claude-opus-5-5',
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  ...more,
});
const codeOf = ({ accounting }: Pick<SupervisedRun, 'accounting'>) => accounting.halt?.code;
const word = (n: number) => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');

test('a call counts once by its id, even if several sources report it', () => {
  const { account, task } = run();
  account(use('a'), use('a'), back('a'), use('a'), back('a'), use('b'), back('b'));
  assert.equal(task.snapshot().toolCalls, 2);
});

test('each of several open calls with one id counts and gets its result; none stays open', () => {
  for (const source of ['stream', 'unknown'] as const) {
    const { account, task, gear } = run();
    const tell = (...events: readonly AgentEvent[]) => account(...markEvents(events, source));
    tell(...[1, 2, 3].map((n) => use('a', 'look', { n })));
    tell(...[1, 2, 3].map((n) => back('a', false, `no page ${n}`)));
    assert.equal(task.snapshot().toolCalls, 3);
    const [breaker] = gear.snapshot().breakers;
    assert.deepEqual([breaker?.totalFailures, breaker?.inFlight], [3, 0], source);
  }
});

test('a result belongs to the oldest open call with its id: a call that lost its result is passed over', () => {
  const { account, gear } = run();
  const tell = (...events: readonly AgentEvent[]) => account(...markEvents(events, 'stream'));
  for (const message of ['m1', 'm2']) tell({ ...use('a', 'look', { message }), message } as AgentEvent);
  tell(back('a', false, 'no page'));
  const [breaker] = gear.snapshot().breakers;
  assert.deepEqual([breaker?.totalFailures, breaker?.totalNeutrals, breaker?.inFlight], [1, 1, 0]);
});

test('calls that are too many to be remembered are settled without a result', () => {
  const { account, accounting, gear } = run({ task: { max_tool_calls: 2_000 }, loop: { enabled: false } });
  for (let n = 0; n < 1_010; n++) account(use(`call ${n}`, 'look', { n }));
  assert.equal(accounting.halt, undefined);
  assert.equal(gear.snapshot().breakers[0]?.inFlight, 1_000);
});

test('the fifty-first different useful call halts, as 51 of 50', () => {
  const { account, task, accounting } = run();
  for (let n = 1; n <= 60; n++)
    account(use(`call ${word(n)}`), back(`call ${word(n)}`, true, `page ${word(n * 7919)}`));
  assert.equal(accounting.halt?.code, 'tool_call_limit');
  assert.deepEqual([accounting.halt?.counters.actual, accounting.halt?.counters.limit], [51, 50]);
  assert.equal(task.halt, accounting.halt);
});

test('two alternating failing calls halt the run within twelve calls', () => {
  const { account, task, accounting } = run();
  for (let n = 0; n < 20; n++) {
    const input = { command: n % 2 === 0 ? 'cat a' : 'cat b' };
    account(use(`c${n}`, 'Bash', input), back(`c${n}`, false, `cat: ${n % 2 === 0 ? 'a' : 'b'}: No such file`));
  }
  assert.equal(accounting.halt?.code, 'tool_loop');
  assert.ok(task.snapshot().toolCalls <= 12, `${task.snapshot().toolCalls} calls`);
});

test('two alternating successful calls with unchanged results halt the run at the twelfth call', () => {
  const { account, task, accounting } = run();
  for (let n = 0; n < 20; n++) {
    account(use(`c${n}`, 'Read', { path: n % 2 }), back(`c${n}`, true, `the same page ${'ab'[n % 2]}`));
  }
  assert.equal(accounting.halt?.code, 'tool_loop');
  assert.equal(task.snapshot().toolCalls, 12);
});

test('different failures of a shell do not open its breaker, and an open breaker never halts a task', () => {
  const { account, accounting, gear } = run();
  for (let n = 1; n <= 12; n++) {
    account(use(`c${n}`, 'Bash', { command: word(n * 37) }), back(`c${n}`, false, `${word(n * 7919)} went wrong`));
  }
  assert.equal(gear.snapshot().breakers.find(({ name }) => name === 'Bash')?.state, 'CLOSED');
  for (let n = 1; n <= 7; n++) {
    account(use(`r${n}`, 'Fetch', { url: word(n * 37) }), back(`r${n}`, false, `HTTP 503 from ${word(n * 7919)}`));
  }
  assert.equal(gear.snapshot().breakers.find(({ name }) => name === 'Fetch')?.state, 'OPEN');
  assert.equal(accounting.halt, undefined);
});

test('an abort rule or a confirm rule that matches an observed call ends the run', () => {
  const rows = [
    ['abort', 'rule_abort'],
    ['confirm', 'rule_unanswered'],
  ] as const;
  for (const [action, code] of rows) {
    const watch = run({ rules: [{ target: 'Pay', condition: 'amount>100', action }] });
    watch.account(use('a', 'Pay', { amount: 50 }), back('a'), use('b', 'Bash', { amount: 500 }), back('b'));
    assert.equal(codeOf(watch), undefined);
    watch.account(use('c', 'Pay', { amount: 500 }));
    assert.equal(codeOf(watch), code);
  }
});

test('usage replaces earlier usage with the same id, and a late line does not reduce it', () => {
  const { account, task, accounting } = run();
  account(usage('m1', 60_000, 1), usage('m1', 60_000, 24_000), usage('m1', 60_000, 1), usage('m1', 0, 24_000));
  assert.equal(task.snapshot().tokens, 84_000);
  account(usage('m2', 10, 10));
  assert.equal(task.snapshot().tokens, 84_020);
  assert.equal(accounting.spent.costUsd, task.snapshot().spendUsd);
});

test('a total adds only usage that no call has reported, and a call reported after it is not counted twice', () => {
  const { account, task } = run();
  const total = (outputTokens: number): AgentEvent => ({
    type: 'total',
    of: 'run',
    model: 'claude-opus-5-5',
    calls: 2,
    inputTokens: 200,
    outputTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  });
  account(usage('m1', 100, 1), usage('m2', 100, 1), total(500));
  assert.equal(task.snapshot().tokens, 700);
  const usd = task.snapshot().spendUsd;
  account(total(500), usage('m1', 100, 200), usage('m2', 100, 300));
  assert.equal(task.snapshot().tokens, 700);
  assert.ok(Math.abs(task.snapshot().spendUsd - usd) < 0.00001, 'nothing was paid twice');
  account(usage('m3', 0, 50));
  assert.equal(task.snapshot().tokens, 750);
});

test('usage of a thread before it was resumed is not counted again', () => {
  const { account, task } = run();
  const tokens = { inputTokens: 9_000, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 };
  account({ type: 'total', of: 'thread', calls: 1, resumed: true, ...tokens });
  assert.equal(task.snapshot().tokens, 0);
});

test('a silent agent is idle, except for up to ten minutes while a tool is running', () => {
  const silent = run();
  silent.account({ type: 'assistant', text: 'let me think' });
  silent.clock.advance(301_000);
  assert.equal(codeOf(silent), 'idle_timeout');

  const busy = run({ task: { max_duration_secs: 10_000 } });
  busy.account(use('slow'));
  busy.clock.advance(600_000);
  assert.equal(codeOf(busy), undefined);
  busy.clock.advance(299_000);
  assert.equal(codeOf(busy), undefined);
  busy.clock.advance(5_000);
  assert.equal(codeOf(busy), 'idle_timeout');

  const done = run();
  done.account(use('quick'), back('quick'));
  done.clock.advance(301_000);
  assert.equal(codeOf(done), 'idle_timeout');
});

test('opencode: silence within a step counts as a running tool, and outside of steps as idle time', () => {
  const line = (type: string, part = {}) => JSON.stringify({ type, sessionID: 's', part });
  const within = superviseRun(opencodeReader());
  within.print(line('step_start'));
  within.clock.advance(590_000);
  assert.equal(codeOf(within), undefined);
  within.print(line('step_finish', { id: 'p', reason: 'tool-calls' }));
  within.clock.advance(301_000);
  assert.equal(codeOf(within), 'idle_timeout');

  const before = superviseRun(opencodeReader());
  before.clock.advance(301_000);
  assert.equal(codeOf(before), 'idle_timeout');
});

test('the next message of the agent ends a call whose result was lost', () => {
  const { account, accounting, clock } = run();
  account({ ...use('a'), message: 'm1' } as AgentEvent, { type: 'assistant', text: 'and now', message: 'm2' });
  clock.advance(301_000);
  assert.equal(accounting.halt?.code, 'idle_timeout');
});

test('signs of life are reported at a limited rate, and any event is one', () => {
  const { account, entries, clock, accounting } = run();
  for (let n = 0; n < 1_000; n++) account({ type: 'heartbeat' });
  assert.equal(entries.filter(({ type }) => type === 'sign-observed').length, 1);
  for (let n = 0; n < 4; n++) {
    clock.advance(299_000);
    account({ type: 'output', text: 'still here' });
  }
  assert.equal(accounting.halt, undefined);
});

test('the pieces of a text count as one text, and three similar texts are a loop', () => {
  const { account, accounting, entries } = run();
  const words = 'I will now look at the file again and then think about it';
  for (let n = 0; n < 3; n++) {
    for (const piece of words.split(/(?<= )/)) account({ type: 'assistant', text: piece, piece: true });
    account({ type: 'result', ok: true, final: false });
  }
  assert.equal(entries.filter(({ type }) => type === 'text-observed').length, 3);
  assert.equal(accounting.halt?.code, 'output_loop');
});

test('a prompt of a person restarts the counters, a text of the harness does not', () => {
  const words: AgentEvent = { type: 'assistant', text: 'I am waiting for the three agents to report back to me now' };
  for (const [by, halts] of [
    ['person', false],
    ['harness', true],
  ] as const) {
    const { account, accounting } = run();
    for (let n = 0; n < 3; n++) account(words, { type: 'user', text: `message ${word(n)}`, by });
    assert.equal(accounting.halt !== undefined, halts, by);
  }
});

test('gemini: a failing shell that is reported as a success is recognised by its output', () => {
  const { print, accounting, task } = superviseRun(geminiReader());
  for (let n = 1; n <= 8; n++) {
    print(
      JSON.stringify({
        type: 'tool_use',
        tool_name: 'run_shell_command',
        tool_id: `t${n}`,
        parameters: { command: 'x' },
      }),
      JSON.stringify({
        type: 'tool_result',
        tool_id: `t${n}`,
        status: 'success',
        output: 'bash: x: command not found',
      }),
    );
  }
  assert.equal(accounting.halt?.code, 'tool_loop');
  assert.equal(task.snapshot().toolCalls, 6);
});

test('shell output is not a failure only because it contains an error word', () => {
  const fine = ['src/log.ts:3: log("no error")', 'ok 1 - handles Error: x', 'error.ts\nREADME.md', ''];
  const { account, gear } = run();
  fine.forEach((output, n) => {
    account(use(`c${n}`, 'run_shell_command'), { type: 'tool_result', id: `c${n}`, output });
  });
  const shell = gear.snapshot().breakers.find(({ name }) => name === 'run_shell_command');
  assert.equal(shell?.totalFailures, 0);
});

test('a halt is reported once, and after it only usage is still counted', () => {
  const { gear, clock } = run();
  const task = gear.startTask({ id: 'second', limits: { maxToolCalls: 1 } });
  const halts: string[] = [];
  const accounting = accountEvents(gear, task, { onHalt: ({ code }) => halts.push(code) });
  for (const id of ['a', 'b', 'c']) accounting.account(use(id));
  accounting.account(usage('m1', 10, 5));
  accounting.account({ type: 'result', ok: false, final: true });
  clock.advance(400_000);
  assert.deepEqual(halts, ['tool_call_limit']);
  assert.equal(task.snapshot().toolCalls, 2);
  assert.equal(accounting.spent.inputTokens, 10);
  assert.equal(accounting.result?.ok, false);
});

test('a deadline is found by the sweep, without any event', () => {
  const { gear, clock } = run();
  const task = gear.startTask({ id: 'second', limits: { maxDurationSecs: 20 } });
  let halted: string | undefined;
  const accounting = accountEvents(gear, task, { onHalt: ({ code }) => (halted = code) });
  accounting.account(use('slow'));
  clock.advance(22_000);
  assert.equal(halted, 'duration_limit');
});

test('an error of onHalt is counted and not passed on', () => {
  const { gear } = run();
  const task = gear.startTask({ id: 'second', limits: { maxToolCalls: 1 } });
  const fails = () => {
    throw new Error('no');
  };
  const accounting = accountEvents(gear, task, { onHalt: fails });
  assert.doesNotThrow(() => ['a', 'b'].map((id) => accounting.account(use(id))));
  assert.equal(gear.snapshot().internalErrors, 1);
});

test('malformed events cause no error and no halt', () => {
  const { account, accounting, gear } = run();
  account(back('nobody'), { type: 'subagent_ended', id: 'nobody', ok: false }, { type: 'heartbeat', agent: 'nobody' });
  account({ type: 'step', on: false }, { type: 'assistant', text: '', agent: 'nobody' }, { type: 'nonsense' } as never);
  assert.equal(accounting.halt, undefined);
  assert.equal(gear.snapshot().internalErrors, 0);
});

test('calls and subagents with malformed names are counted like others', () => {
  const { account, accounting, task, gear } = run();
  for (const name of ['\ud800', 'x'.repeat(5_000), '', '__proto__', 'a/b\n']) {
    account(use(`call of ${name}`, name), back(`call of ${name}`));
    account({ type: 'subagent_started', id: name, name }, { ...use(`call below ${name}`), agent: name } as AgentEvent);
    account({ type: 'subagent_ended', id: name, ok: true });
  }
  assert.equal(task.snapshot().toolCalls, 5);
  assert.deepEqual(
    accounting.subagents.map((each) => each.snapshot().toolCalls),
    [1, 1, 1, 1, 1],
  );
  assert.equal(gear.snapshot().internalErrors, 0);
});

test('no timer is pending after the accounting, the task and the gear have ended', () => {
  const { account, accounting, task, gear, clock } = run();
  account(use('slow'), { type: 'step', on: true }, { type: 'subagent_started', id: 'x', hidden: true });
  accounting.end();
  task.end();
  gear.dispose();
  assert.equal(clock.pending, 0);
});

test('the model on the command line prices a stream without a model', () => {
  const { reader } = readerFor(['codex', 'exec', '--json', '-m', 'gpt-5.5', 'go']);
  const { print, task, accounting } = superviseRun(reader());
  print(
    JSON.stringify({ type: 'thread.started', thread_id: 't' }),
    JSON.stringify({ type: 'turn.completed', usage: { input_tokens: 1_000_000, output_tokens: 0 } }),
  );
  assert.equal(accounting.model, 'gpt-5.5');
  assert.equal(accounting.session, 't');
  assert.ok(task.snapshot().spendUsd > 1);
});

test('claude-code: a result is final only when no subagent is running', () => {
  const { print, accounting } = superviseRun(claudeCodeReader());
  const result = { type: 'result', subtype: 'success', is_error: false, terminal_reason: 'completed' };
  print(
    JSON.stringify({ type: 'system', subtype: 'task_started', task_id: 'a1', task_type: 'local_agent' }),
    JSON.stringify({ ...result, result: 'waiting' }),
  );
  assert.deepEqual([accounting.result?.final, accounting.result?.text], [false, 'waiting']);
  print(
    JSON.stringify({ type: 'system', subtype: 'task_notification', task_id: 'a1', status: 'completed' }),
    JSON.stringify({ ...result, result: 'done' }),
  );
  assert.deepEqual([accounting.result?.final, accounting.result?.text], [true, 'done']);
});

test('cache writes of Claude Code for an hour cost twice as much as input, once per message', () => {
  const { print, task, accounting } = superviseRun(claudeCodeReader());
  const usage = {
    ...{ input_tokens: 0, output_tokens: 1, cache_creation_input_tokens: 1_500 },
    cache_creation: { ephemeral_5m_input_tokens: 500, ephemeral_1h_input_tokens: 1_000 },
  };
  const message = { id: 'msg_1', role: 'assistant', model: 'claude-sonnet-4-20250514', content: [], usage };
  const line = JSON.stringify({ type: 'assistant', message });
  print(line, line);
  const micros = Math.round(task.snapshot().spendUsd * 1_000_000);
  assert.equal(micros, 500 * 3.75 + 1_000 * 6 + 15);
  assert.equal(accounting.spent.costUsd, micros / 1_000_000);
  print(JSON.stringify({ type: 'assistant', message: { ...message, id: 'msg_2' } }));
  assert.equal(Math.round(task.snapshot().spendUsd * 1_000_000), 2 * micros);
});
