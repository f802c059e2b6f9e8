/** The three hosts: what their payloads say, and how each has to be told. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { HookDecision, HookEvent } from '../../../src/hooks/hosts/hook-event.ts';
import { hosts } from '../../../src/hooks/hosts/index.ts';
import { type Event, type HookSession, newSession } from '../hook-session.ts';

function session(context: TestContext, host: string): HookSession {
  const hookSession = newSession(host);
  context.after(hookSession.clear);
  return hookSession;
}

const place = { session: 's', cwd: '/w', agent: undefined, agentType: undefined };
const proposed: HookEvent = { type: 'call-proposed', ...place, id: 'c', tool: 'Bash', input: {}, isShared: false };
const after: HookEvent = { ...proposed, type: 'call-ended', ending: { value: '' } };
const batch: HookEvent = { type: 'batch-ended', ...place };

test('a halt refuses the call and ends the run, as far as each host supports it', () => {
  const halt: HookDecision = { kind: 'halt', reason: 'over' };
  const over = { continue: false, stopReason: 'over' };
  const denied = {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: 'over',
    },
  };
  const { 'claude-code': claude, codex, gemini } = hosts;
  assert.deepEqual(claude.answer(proposed, halt), { stdout: { ...over, ...denied }, code: 0 });
  assert.deepEqual(claude.answer(batch, halt), { stdout: over, code: 0 });
  // Codex takes `continue: false` before a call for a broken hook, and runs the call.
  assert.deepEqual(codex.answer(proposed, halt), { stdout: denied, code: 0 });
  assert.deepEqual(codex.answer(after, halt), { stdout: over, code: 0 });
  assert.deepEqual(gemini.answer(proposed, halt), {
    stdout: { ...over, decision: 'deny', reason: 'over' },
    code: 0,
  });
  for (const host of Object.values(hosts)) {
    assert.deepEqual(host.answer(proposed, { kind: 'pass' }), { code: 0 });
    assert.deepEqual(host.answer(after, { kind: 'deny', reason: 'late' }), { code: 0 }, 'nothing is left to refuse');
  }
});

test('codex: the prompt of a subagent is not a prompt of a person', () => {
  const asked = { hook_event_name: 'UserPromptSubmit', session_id: 's', prompt: 'Count the files.' };
  const by = (payload: object) => {
    const event = hosts.codex.read(payload as Readonly<Record<string, unknown>>);
    return event.type === 'prompt' && event.by;
  };
  assert.deepEqual([by(asked), by({ ...asked, agent_id: 'a1', agent_type: 'default' })], ['person', 'harness']);
});

test('a payload with only an event name is read without an error', () => {
  for (const host of Object.values(hosts)) {
    for (const hook_event_name of ['PreToolUse', 'PostToolUse', 'BeforeTool', 'AfterTool', 'Stop', 'SubagentStop', 7]) {
      const event = host.read({ hook_event_name });
      assert.equal(typeof event.type, 'string');
    }
  }
});

/** Calls of a host in the words of its own payloads: recorded with the real program. */
const shells: Readonly<Record<string, (id: string, command: string) => { readonly pre: Event; readonly post: Event }>> =
  {
    codex: (id, command) => {
      const call = { turn_id: 't', tool_name: 'Bash', tool_input: { command }, tool_use_id: id };
      const tool_response = "ls: cannot access '/nonexistent': No such file or directory\n";
      return {
        pre: { ...call, hook_event_name: 'PreToolUse' },
        post: { ...call, hook_event_name: 'PostToolUse', tool_response },
      };
    },
    gemini: (id, command) => {
      const call = { tool_name: 'run_shell_command', tool_input: { command, description: 'x' } };
      const output = `Output: ls: cannot access '/nonexistent'\nExit Code: 2\nProcess Group PGID: ${id.length + 1000}`;
      const tool_response = { llmContent: `<untrusted_context>\n${output}\n</untrusted_context>`, returnDisplay: 'ls' };
      return {
        pre: { ...call, hook_event_name: 'BeforeTool' },
        post: { ...call, hook_event_name: 'AfterTool', tool_response },
      };
    },
  };

for (const [host, shell] of Object.entries(shells)) {
  test(`${host}: an endless failing command runs 5 times and is refused from then on`, async (context) => {
    const hookSession = session(context, host);
    const decisions: string[] = [];
    for (let number = 1; number <= 8; number++) {
      const call = shell(`c${number}`, 'ls /nonexistent');
      const { output } = await hookSession.send(call.pre);
      if (output === undefined) await hookSession.send(call.post);
      decisions.push(
        output === undefined ? 'ran' : (output.decision ?? output.hookSpecificOutput?.permissionDecision ?? ''),
      );
    }
    assert.deepEqual(decisions, [...Array(5).fill('ran'), ...Array(3).fill('deny')]);
    assert.equal(hookSession.journal().filter(({ type }) => type === 'task-halted').length, 1);
  });
}

test('gemini: parallel calls without ids are distinguished by their arguments', async (context) => {
  const hookSession = session(context, 'gemini');
  const shell = shells.gemini!;
  await hookSession.send({ hook_event_name: 'BeforeAgent', prompt: 'go' });
  const [one, two] = [shell('a', 'ls a'), shell('b', 'ls b')];
  for (const event of [one.pre, two.pre, two.post, one.post]) await hookSession.send(event);
  await hookSession.send({ hook_event_name: 'AfterAgent', prompt: 'go', prompt_response: 'done' });
  const types = hookSession.journal().map(({ type }) => type);
  assert.equal(types.filter((type) => type === 'action-allowed').length, 2);
  assert.equal(types.filter((type) => type === 'action-settled').length, 2);
  assert.equal(types.filter((type) => type === 'task-ended').length, 1);
});

test('sessions share the breaker of an MCP tool, but not of a built-in tool', async (context) => {
  const hookSession = session(context, 'claude-code');
  const call = (tool: string, of: string, number: number) => ({
    session_id: of,
    tool_name: tool,
    tool_input: { number },
    tool_use_id: `${of}-${tool}-${number}`,
  });
  for (const tool of ['mcp__web__search', 'WebFetch']) {
    for (let number = 1; number <= 5; number++) {
      await hookSession.send({ ...call(tool, 'one', number), hook_event_name: 'PreToolUse' });
      const error = `HTTP 500 number ${number}`;
      await hookSession.send({ ...call(tool, 'one', number), hook_event_name: 'PostToolUseFailure', error });
    }
  }
  const shared = await hookSession.send({ ...call('mcp__web__search', 'two', 6), hook_event_name: 'PreToolUse' });
  assert.equal(shared.output?.hookSpecificOutput?.permissionDecision, 'deny');
  const own = await hookSession.send({ ...call('WebFetch', 'two', 6), hook_event_name: 'PreToolUse' });
  assert.equal(own.output, undefined);
});

for (const onTrip of ['deny', 'halt'] as const) {
  const end = onTrip === 'deny' ? 'is refused, and the task goes on' : 'halts the whole task with on_trip = "halt"';
  test(`a third delegation to a worker that failed twice ${end}`, async (context) => {
    const hookSession = session(context, 'claude-code');
    if (onTrip === 'halt') writeFileSync(join(hookSession.folder, 'p.json'), '{"delegation":{"on_trip":"halt"}}');
    const words = onTrip === 'halt' ? ['--policy', join(hookSession.folder, 'p.json')] : [];
    const propose = (number: number, type = 'Explore') => {
      const tool_input = { subagent_type: type, prompt: `look ${number}` };
      return { tool_name: 'Agent', tool_input, tool_use_id: `a${number}`, hook_event_name: 'PreToolUse' };
    };
    for (const number of [1, 2]) {
      assert.equal((await hookSession.send(propose(number), {}, words)).output, undefined);
      const died = { ...propose(number), hook_event_name: 'PostToolUseFailure', error: 'the agent died' };
      await hookSession.send(died, {}, words);
    }
    const { output } = await hookSession.send(propose(3), {}, words);
    assert.equal(output?.hookSpecificOutput?.permissionDecision, 'deny');
    assert.match(output?.hookSpecificOutput?.permissionDecisionReason ?? '', /Explore has failed 2/);
    assert.equal(output?.continue, onTrip === 'halt' ? false : undefined);
    const halts = hookSession.journal().flatMap((entry) => (entry.type === 'task-halted' ? [entry.stop.code] : []));
    assert.deepEqual(halts, onTrip === 'halt' ? ['delegation_limit'] : []);
    const other = await hookSession.send(propose(4, 'Plan'), {}, words);
    assert.equal(other.output?.continue, onTrip === 'halt' ? false : undefined);
  });
}
