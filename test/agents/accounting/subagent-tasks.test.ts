/** Subagents are tasks of their own: their calls are theirs, their failures count once, their end is theirs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  accountEvents,
  claudeCodeReader,
  codexSessionReader,
  opencodeReader,
  plainTextReader,
  readerFor,
} from '../../../src/agents/index.ts';
import { createSwitchgear, type PolicyInput } from '../../../src/index.ts';
import { readers, recording, type SupervisedRun, superviseRun, unpacked } from '../recording.ts';

/** A stream of Claude Code, in which three subagents work in the background at once. */
function fanOut(calls: readonly number[], failed: readonly string[] = []): readonly string[] {
  const lines: unknown[] = [{ type: 'system', subtype: 'init', session_id: 's', model: 'claude-opus-5-5' }];
  const usage = { input_tokens: 100, output_tokens: 10 };
  const says = (id: string, block: object, more = {}) =>
    lines.push({ type: 'assistant', message: { id, model: 'claude-opus-5-5', content: [block], usage }, ...more });
  const gets = (id: string, content: string, more = {}) =>
    lines.push({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: id, content }] }, ...more });
  const agents = calls.map((_, n) => ({ call: `toolu_${n}`, id: `a${n}`, type: ['Explore', 'Plan', 'Review'][n] }));
  for (const { call, id, type } of agents) {
    const input = { subagent_type: type, prompt: `inspect ${id}`, description: 'x' };
    says('m0', { type: 'tool_use', id: call, name: 'Agent', input });
  }
  for (const { call, id, type } of agents) {
    lines.push({
      type: 'system',
      subtype: 'task_started',
      task_id: id,
      tool_use_id: call,
      task_type: 'local_agent',
      subagent_type: type,
    });
    gets(call, 'launched', { tool_use_result: { isAsync: true, status: 'async_launched', agentId: id } });
  }
  const done = { type: 'result', subtype: 'success', is_error: false, terminal_reason: 'completed' };
  lines.push({ ...done, result: 'the agents are working' });
  const words = ['alpha', 'beta', 'gamma', 'delta', 'omega', 'sigma', 'kappa', 'theta'];
  for (let turn = 0; turn < Math.max(...calls); turn++) {
    for (const [n, { call, id }] of agents.entries()) {
      if (turn >= calls[n]!) continue;
      const more = { parent_tool_use_id: call, agent_id: id };
      const command = `look ${words[turn % 8]} ${words[(turn >> 3) % 8]} ${n}`;
      says(`${id}-${turn}`, { type: 'tool_use', id: `${id}-t${turn}`, name: 'Bash', input: { command } }, more);
      gets(`${id}-t${turn}`, `found ${words[(turn * 5) % 8]} ${words[turn >> 3]} of ${id}`, more);
    }
  }
  for (const { id, call } of agents) {
    const status = failed.includes(id) ? 'failed' : 'completed';
    lines.push({
      type: 'system',
      subtype: 'task_notification',
      task_id: id,
      tool_use_id: call,
      status,
      summary: status,
    });
    lines.push({ type: 'system', subtype: 'init', session_id: 's', model: 'claude-opus-5-5' });
    lines.push({ ...done, result: `${id} reported` });
  }
  return lines.map((line) => JSON.stringify(line));
}

const started = ({ entries }: SupervisedRun) =>
  entries.flatMap((entry) => (entry.type === 'task-started' && entry.task !== 'run' ? [entry] : []));

test('parallel subagents without failures cause no halt, and each subagent has its own call count', () => {
  const run = superviseRun(claudeCodeReader());
  run.print(...fanOut([20, 20, 20]));
  const { accounting, task } = run;
  assert.equal(accounting.halt, undefined);
  assert.deepEqual(
    accounting.subagents.map(({ agent, parent, id, snapshot }) => [agent, parent, id, snapshot !== undefined]),
    [
      ['Explore', 'run', 'run/a0', true],
      ['Plan', 'run', 'run/a1', true],
      ['Review', 'run', 'run/a2', true],
    ],
  );
  assert.deepEqual(
    accounting.subagents.map((each) => each.snapshot().toolCalls),
    [20, 20, 20],
  );
  assert.equal(task.snapshot().toolCalls, 3, 'the calls of the Agent tool are its own');
  assert.deepEqual([accounting.result?.final, accounting.result?.text], [true, 'a2 reported']);
});

test('the usage of subagents counts for the subagent and the run, each model call once', () => {
  const run = superviseRun(claudeCodeReader());
  run.print(...fanOut([5, 5, 5]));
  assert.deepEqual(
    run.accounting.subagents.map((each) => each.snapshot().tokens),
    [550, 550, 550],
  );
  assert.equal(run.task.snapshot().tokens, 3 * 550 + 110);
});

test('a looping subagent ends the run, and the halt names its task', () => {
  const run = superviseRun(plainTextReader());
  run.account({ type: 'subagent_started', id: 'x', name: 'Explore' });
  for (let n = 0; n < 8; n++) {
    run.account({ type: 'tool_use', id: `t${n}`, name: 'Bash', input: { command: 'cat x' }, agent: 'x' });
    run.account({ type: 'tool_result', id: `t${n}`, ok: false, output: 'no such file', agent: 'x' });
  }
  assert.equal(run.accounting.halt?.code, 'tool_loop');
  assert.equal(run.accounting.halt?.task, 'run/x');
  assert.equal(run.task.halt, undefined, 'the task above has done nothing');
});

test('a worker that failed twice halts a run of the preset delegation, and no other', () => {
  const run = superviseRun(plainTextReader(), { preset: 'delegation' });
  const plain = superviseRun(plainTextReader());
  const fail = (id: string) => {
    for (const { account } of [run, plain])
      account(
        { type: 'subagent_started', id, name: 'Explore' },
        { type: 'subagent_ended', id, ok: false, reason: 'no' },
      );
  };
  fail('x');
  assert.equal(run.accounting.halt?.code, undefined);
  fail('y');
  assert.equal(run.accounting.halt?.code, 'delegation_limit');
  assert.equal(run.accounting.halt?.task, 'run');
  assert.equal(run.gear.snapshot().delegations.s?.Explore, 2);
  fail('z');
  assert.deepEqual([plain.accounting.halt, plain.gear.snapshot().delegations.s?.Explore], [undefined, 3]);
});

test('a general-purpose subagent is a separate worker for each prompt', () => {
  const send = (prompts: readonly string[]) => {
    const run = superviseRun(plainTextReader(), { preset: 'delegation' });
    for (const [n, prompt] of prompts.entries()) {
      run.account({ type: 'subagent_started', id: `x${n}`, name: 'general-purpose', prompt });
      run.account({ type: 'subagent_ended', id: `x${n}`, ok: false });
    }
    return run.accounting.halt?.code;
  };
  assert.equal(send(['find the bug', 'write the page', 'mend the test']), undefined);
  assert.equal(send(['find the bug', 'find the bug']), 'delegation_limit');
});

test('a delegation settles when the subagent ends, not when its call returns at once', () => {
  const run = superviseRun(claudeCodeReader());
  run.print(...fanOut([2, 2, 2], ['a1']));
  const returned = run.entries.flatMap((entry) => (entry.type === 'delegation-returned' ? [entry] : []));
  assert.deepEqual(
    returned.map(({ worker, failed }) => [worker, failed]),
    [
      ['Explore', false],
      ['Plan', true],
      ['Review', false],
    ],
  );
});

test('a foreground subagent ends with its call, and a refused call starts no subagent', () => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'Agent', input: { subagent_type: 'Explore', prompt: 'x' } };
  const says = JSON.stringify({ type: 'assistant', message: { id: 'm', content: [call] } });
  const back = (is_error: boolean) =>
    JSON.stringify({
      type: 'user',
      message: { content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x', is_error }] },
    });
  const inside = JSON.stringify({
    type: 'assistant',
    message: { id: 'n', content: [{ type: 'text', text: 'looking' }] },
    parent_tool_use_id: 'toolu_1',
  });
  const done = superviseRun(claudeCodeReader());
  done.print(says, inside, back(false));
  assert.deepEqual(
    done.entries.flatMap((entry) => (entry.type === 'delegation-returned' ? [entry.failed] : [])),
    [false],
  );
  const refused = superviseRun(claudeCodeReader());
  refused.print(says, back(true));
  assert.deepEqual(started(refused), []);
});

test('a run is not idle while a subagent works, and can be idle after the subagent has ended', () => {
  const run = superviseRun(plainTextReader(), { task: { max_duration_secs: 100_000 } });
  run.account({ type: 'subagent_started', id: 'x', name: 'Explore' });
  for (let n = 0; n < 5; n++) {
    run.clock.advance(250_000);
    run.account({ type: 'heartbeat', agent: 'x' });
  }
  assert.equal(run.accounting.halt?.code, undefined);
  run.account({ type: 'subagent_ended', id: 'x', ok: true });
  run.clock.advance(301_000);
  assert.equal(run.accounting.halt?.code, 'idle_timeout');
});

test('a subagent with hidden events counts as a running call, and its file counts for the subagent', () => {
  const run = superviseRun(plainTextReader(), { task: { max_duration_secs: 100_000 } });
  run.account({ type: 'subagent_started', id: 'call-1', name: 'investigator', hidden: true });
  run.clock.advance(590_000);
  assert.equal(run.accounting.halt?.code, undefined);
  run.account({ type: 'tool_use', id: 't1', name: 'read_file', input: {}, agent: 'chat-7' });
  run.account({ type: 'tool_use', id: 't2', name: 'read_file', input: { n: 2 }, agent: 'chat-7' });
  assert.deepEqual(
    run.accounting.subagents.map((each) => each.snapshot().toolCalls),
    [2],
  );
  assert.equal(run.task.snapshot().toolCalls, 0);
});

test('tokens that are reported after the end of a subagent count for the run', () => {
  const run = superviseRun(plainTextReader());
  run.account({ type: 'subagent_started', id: 'x' }, { type: 'subagent_ended', id: 'x', ok: true });
  const tokens = { inputTokens: 100, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  run.account({ type: 'usage', id: 'm', model: 'claude-opus-5-5', agent: 'x', ...tokens });
  assert.equal(run.task.snapshot().tokens, 101);
});

test('tasks of parallel siblings on one stream have their own counts', () => {
  const run = superviseRun(readerFor(['agent']).reader());
  const events = ['a', 'b'].flatMap((task) => [
    `[heartbeat] starting ${task}`,
    ...[1, 2, 3].map((n) => JSON.stringify({ type: 'tool_use', id: `${task}${n}`, name: 'scrape', taskId: task })),
  ]);
  run.print(...events, '[heartbeat] done a', JSON.stringify({ type: 'tool_use', id: 'b4', name: 'scrape' }));
  assert.deepEqual(
    run.accounting.subagents.map((each) => each.snapshot().toolCalls),
    [3, 4],
  );
});

test('a subagent that gets another message continues as a task of its own', () => {
  const run = superviseRun(claudeCodeReader());
  run.print(...fanOut([1, 1, 1]));
  const line = { type: 'assistant', parent_tool_use_id: 'toolu_0', agent_id: 'a0' };
  const use = { type: 'tool_use', id: 'again', name: 'Bash', input: { command: 'more' } };
  run.print(JSON.stringify({ ...line, message: { id: 'x', content: [use] } }));
  assert.deepEqual(
    run.accounting.subagents.map((each) => [each.id, each.snapshot().toolCalls]),
    [
      ['run/a1', 1],
      ['run/a2', 1],
      ['run/a0', 1],
    ].sort(),
  );
});

test('calls of subagents beyond the maximum number kept count for the run', () => {
  const run = superviseRun(plainTextReader(), { task: { max_tool_calls: 10_000 } } satisfies PolicyInput);
  for (let n = 0; n < 1_100; n++) run.account({ type: 'subagent_started', id: `x${n}` });
  run.account({ type: 'tool_use', id: 't', name: 'Bash', input: {}, agent: 'x1050' });
  assert.equal(run.task.snapshot().toolCalls, 1);
  assert.equal(run.gear.snapshot().internalErrors, 0);
});

test('events of a subagent under an ended one count for the nearest running ancestor', () => {
  const run = superviseRun(plainTextReader());
  run.account({ type: 'subagent_started', id: 'x' }, { type: 'subagent_started', id: 'y', parent: 'x' });
  assert.equal(run.accounting.subagents[1]?.parent, 'run/x');
  const tokens = { inputTokens: 100, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const spend = (id: string) => run.account({ type: 'usage', id, model: 'claude-opus-5-5', agent: 'y', ...tokens });
  run.account({ type: 'subagent_ended', id: 'y', ok: true });
  spend('m1');
  assert.equal(run.accounting.subagents[0]?.snapshot().tokens, 101);
  run.account({ type: 'subagent_ended', id: 'x', ok: true });
  spend('m2');
  assert.equal(run.task.snapshot().tokens, 202);
});

test('while the process is suspended, no task becomes idle and no time is counted', () => {
  const run = superviseRun(plainTextReader());
  run.account({ type: 'subagent_started', id: 'x' });
  run.accounting.pause();
  run.accounting.pause();
  run.clock.advance(5_000_000);
  assert.equal(run.accounting.halt?.code, undefined);
  run.accounting.resume();
  assert.equal(run.task.snapshot().durationMs, 0);
  run.clock.advance(301_000);
  assert.equal(run.accounting.halt?.code, 'idle_timeout');
  assert.equal(run.accounting.halt?.task, 'run/x');
});

test('actions of Codex subagents count for them, even if read after the reported end', () => {
  const run = superviseRun(readers.codex());
  run.print(...recording('codex', 'fan-out').lines.map(({ line }) => line));
  let reader = codexSessionReader({ besideStream: true });
  for (const line of unpacked('sessions/codex-rollouts-fan-out.jsonl.gz').trimEnd().split('\n')) {
    if (line.includes('"type":"session_meta"')) reader = codexSessionReader({ besideStream: true });
    run.account(...reader.read(line));
  }
  const { accounting, task, clock, entries } = run;
  assert.deepEqual(
    accounting.subagents.map((each) => each.snapshot().toolCalls),
    [4, 5, 6],
  );
  assert.equal(task.snapshot().toolCalls, 6, 'three that send, three that wait');
  clock.advance(2_000);
  const ended = entries.flatMap((entry) => (entry.type === 'task-ended' ? [entry.how] : []));
  assert.deepEqual(ended, ['done', 'done', 'done']);
  assert.equal(accounting.halt, undefined);
});

test('a subagent whose file is never read is not idle after its end', () => {
  const run = superviseRun(readers.codex(), { task: { max_idle_secs: 1 } });
  run.account({ type: 'subagent_started', id: 'a', hidden: true });
  run.account({ type: 'subagent_ended', id: 'a', ok: true });
  for (let secs = 0; secs < 8; secs++) {
    run.clock.advance(500);
    run.account({ type: 'heartbeat' });
  }
  assert.equal(run.accounting.halt, undefined);
});

test('pausing a run pauses its subagents, and one resume continues all', () => {
  const run = superviseRun(readers.codex(), { task: { max_idle_secs: 5 } });
  const { gear, task, clock } = run;
  const halted = () => run.accounting.halt?.code;
  gear.onEntry(({ type, task: of }) => {
    if (of !== task.id) return;
    if (type === 'task-stopped') run.accounting.pause();
    if (type === 'task-resumed') run.accounting.resume();
  });
  run.account({ type: 'subagent_started', id: 'a' });
  task.pause(); // As an operator does.
  clock.advance(60_000);
  assert.equal(halted(), undefined);
  task.resume();
  const stillMs = task.snapshot().durationMs;
  clock.advance(1_000);
  assert.equal(task.snapshot().durationMs - stillMs, 1_000, 'time passes again');
  clock.advance(60_000);
  assert.equal(halted(), 'idle_timeout');
});

test('a subagent that its file reported first may still have late file events at its end', () => {
  const run = superviseRun(readers.codex());
  run.account({ type: 'subagent_started', id: 'a' }, { type: 'subagent_started', id: 'a', hidden: true });
  run.account({ type: 'subagent_ended', id: 'a', ok: true });
  run.account({ type: 'tool_use', id: 'late', name: 'look', input: {}, agent: 'a' });
  assert.deepEqual(
    run.accounting.subagents.map((each) => each.snapshot().toolCalls),
    [1],
  );
  assert.equal(run.task.snapshot().toolCalls, 0);
});

test('opencode: a subagent in both the database and the stream counts once, with all its actions', () => {
  const { account, entries, task, accounting } = superviseRun(plainTextReader());
  const part = {
    type: 'tool',
    tool: 'task',
    callID: 'c1',
    state: { status: 'completed', input: { subagent_type: 'general' }, output: 'ok', metadata: { sessionId: 'child' } },
  };
  const told = opencodeReader().read(JSON.stringify({ type: 'tool_use', sessionID: 'main', part }));
  account(...told);
  account({ type: 'tool_use', id: 'x1', name: 'bash', input: { command: 'ls' }, agent: 'child' });
  account({ type: 'assistant', text: 'That was all.', agent: 'child' });
  accounting.end();
  account(...told);
  assert.equal(entries.filter(({ type }) => type === 'task-started').length, 2);
  const of = (type: string) => entries.filter((entry) => entry.type === type).map((entry) => entry.task);
  assert.deepEqual(of('call-observed'), [task.id, `${task.id}/child`]);
  assert.deepEqual(of('text-observed'), [`${task.id}/child`]);
});

test('codex: a subagent that its file reported completely is not started again by the stream', () => {
  const { account, entries, task } = superviseRun(plainTextReader());
  account({ type: 'subagent_started', id: 'thread' });
  account({ type: 'tool_use', id: 'x1', name: 'exec_command', input: { cmd: 'ls' }, agent: 'thread' });
  account({ type: 'subagent_ended', id: 'thread', ok: true });
  account({ type: 'subagent_started', id: 'thread', call: 'item_1', hidden: true });
  account({ type: 'subagent_ended', id: 'thread', ok: true });
  const started = () => entries.flatMap((entry) => (entry.type === 'task-started' ? [entry.task] : []));
  assert.deepEqual(started(), [task.id, `${task.id}/thread`]);
  account({ type: 'subagent_started', id: 'thread', call: 'item_9', hidden: true });
  assert.equal(started().length, 3, 'another call sends it anew');
  for (let round = 0; round < 2; round++) {
    account({ type: 'subagent_started', id: 'named' });
    account({ type: 'subagent_ended', id: 'named', ok: true });
  }
  assert.equal(started().length, 5, 'where no call is ever told, each word of it is a new one');
});

test('each heartbeat task runs under its own name, so that a raised limit is that of one part', () => {
  const gear = createSwitchgear({ log: 'silent' });
  const limits: unknown[] = [];
  const root = gear.startTask();
  gear.on('task-started', (entry) => limits.push([entry.agent, entry.limits.maxToolCalls]));
  const accounting = accountEvents(gear, root, { subagentLimits: { scrape: { maxToolCalls: 80 } } });
  const reader = readerFor(['sh', 'job.sh'], { heartbeats: true }).reader();
  for (const line of ['[heartbeat] starting scrape', '[heartbeat] starting index'])
    for (const event of reader.read(line)) accounting.account(event);
  assert.deepEqual(limits, [
    ['scrape', 80],
    ['index', 50],
  ]);
});
