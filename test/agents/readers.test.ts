/** What readers make of lines: the shapes of each program, and everything that is none of them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type AgentEvent,
  claudeCodeReader,
  codexReader,
  geminiReader,
  heartbeatReader,
  mappedJsonReader,
  opencodeReader,
  plainTextReader,
  type Reader,
  readerFor,
} from '../../src/agents/index.ts';
import { clis, readers, recordings } from './recording.ts';

const mapping = {
  events: { say: { as: 'assistant', text: 'a.b' }, do: { as: 'tool_use', id: 'id', name: 'n' } },
} as const;
const all: Readonly<Record<string, () => Reader>> = {
  ...readers,
  generic: () => mappedJsonReader(mapping),
  plain: plainTextReader,
  heartbeat: () => heartbeatReader(plainTextReader()),
  other: () => readerFor(['agent']).reader(),
};

function read(reader: Reader, ...lines: readonly unknown[]): readonly AgentEvent[] {
  return lines.flatMap((line) => reader.read(typeof line === 'string' ? line : JSON.stringify(line)));
}

const types = (events: readonly AgentEvent[]) => events.map(({ type }) => type);

test('no reader throws for any line', () => {
  const words = clis.flatMap((cli) =>
    recordings()
      .filter((each) => each.cli === cli)[0]!
      .lines.map(({ line }) => line),
  );
  const keys = fc.constantFrom('type', 'message', 'content', 'item', 'part', 'state', 'id', 'usage', 'event', 'tokens');
  const kinds = fc.constantFrom('assistant', 'user', 'system', 'result', 'item.completed', 'tool_use', 'step_finish');
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ depthSize: 'small' }, kinds, fc.jsonValue(), fc.dictionary(keys, tie('tree'), { maxKeys: 4 })),
  }));
  const cut = fc.tuple(fc.constantFrom(...words), fc.nat(400)).map(([line, at]) => line.slice(0, line.length - at));
  const line = fc.oneof(
    tree.map((value) => JSON.stringify(value) ?? ''),
    cut,
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      for (const make of Object.values(all)) {
        const reader = make();
        for (const each of lines) assert.ok(Array.isArray(reader.read(each)));
        assert.ok(Array.isArray(reader.end()));
      }
    }),
    { numRuns: 300 },
  );
});

test('an unknown event is a sign of life, other text is shown unchanged, a blank line is ignored', () => {
  for (const cli of clis) {
    assert.deepEqual(types(read(readers[cli](), { type: 'of-next-year', message: 7 })), ['heartbeat'], cli);
    assert.deepEqual(read(readers[cli](), 'Warning: old Node'), [{ type: 'output', text: 'Warning: old Node' }], cli);
    assert.deepEqual(read(readers[cli](), '{"type":"assis'), [{ type: 'output', text: '{"type":"assis' }], cli);
    assert.deepEqual(read(readers[cli](), '', '  \t'), [], cli);
  }
});

test('claude-code: the token count of a partial message is updated under the message id', () => {
  const usage = { input_tokens: 5, cache_creation_input_tokens: 30, cache_read_input_tokens: 10, output_tokens: 1 };
  const events = read(
    claudeCodeReader(),
    { type: 'stream_event', event: { type: 'message_start', message: { id: 'm1', model: 'claude-x', usage } } },
    { type: 'stream_event', event: { type: 'content_block_delta', delta: { text: 'hel' } } },
    { type: 'stream_event', event: { type: 'message_delta', usage: { output_tokens: 24_000 } } },
  );
  const zero = { inputTokens: 0, outputTokens: 24_000, cacheReadTokens: 0, cacheWriteTokens: 0 };
  assert.deepEqual(events, [
    {
      type: 'usage',
      id: 'm1',
      model: 'claude-x',
      inputTokens: 45,
      outputTokens: 1,
      cacheReadTokens: 10,
      cacheWriteTokens: 30,
    },
    { type: 'heartbeat' },
    { type: 'usage', id: 'm1', ...zero },
  ]);
});

test('claude-code: a run that a hook stopped is not a success, although it reports one', () => {
  const said = { type: 'result', subtype: 'success', is_error: false, result: '', terminal_reason: 'hook_stopped' };
  assert.deepEqual(read(claudeCodeReader(), said), [
    { type: 'result', ok: false, final: true, reason: 'hook_stopped' },
  ]);
});

test('claude-code: texts of the harness are distinguished from prompts of a person', () => {
  const user = (text: string, more = {}) => ({ type: 'user', message: { content: [{ type: 'text', text }] }, ...more });
  const events = read(
    claudeCodeReader(),
    user('please go on'),
    user('<task-notification>done</task-notification>'),
    user('meta', { isSynthetic: true }),
    user('from elsewhere', { origin: { kind: 'task-notification' } }),
  );
  assert.deepEqual(
    events.map((event) => event.type === 'user' && event.by),
    ['person', 'harness', 'harness', 'harness'],
  );
});

test('codex: declined and failed calls are failures, and an item without a start event is a call', () => {
  const item = (type: string, more: object) => ({ type: 'item.completed', item: { id: 'i', type, ...more } });
  const rows: readonly (readonly [object, boolean])[] = [
    [item('command_execution', { command: 'x', exit_code: 0, status: 'completed' }), true],
    [item('command_execution', { command: 'x', exit_code: 2, status: 'completed' }), false],
    [item('command_execution', { command: 'x', exit_code: null, status: 'declined' }), false],
    [item('file_change', { changes: [], status: 'failed' }), false],
    [item('mcp_tool_call', { server: 's', tool: 't', error: { message: 'no' }, status: 'failed' }), false],
  ];
  for (const [line, ok] of rows) {
    const [call, result] = read(codexReader(), line);
    assert.equal(call?.type, 'tool_use');
    assert.equal(result?.type === 'tool_result' && result.ok, ok, JSON.stringify(line));
  }
  const [call] = read(codexReader(), item('mcp_tool_call', { server: 's', tool: 't', status: 'completed' }));
  assert.equal(call?.type === 'tool_use' && call.name, 'mcp__s__t');
});

test('codex: spawned threads are subagents, and end with the reported state', () => {
  const collab = (tool: string, states: object, id: string) => ({
    type: 'item.completed',
    item: {
      id,
      type: 'collab_tool_call',
      tool,
      receiver_thread_ids: ['t-1', 't-2'],
      prompt: 'look',
      agents_states: states,
      status: 'completed',
    },
  });
  const events = read(
    codexReader(),
    collab('spawn_agent', { 't-1': { status: 'running' } }, 'i1'),
    collab('wait', { 't-1': { status: 'completed' }, 't-2': { status: 'errored', message: 'no disk' } }, 'i2'),
    collab('wait', { 't-1': { status: 'completed' } }, 'i3'),
  );
  assert.deepEqual(
    events.filter(({ type }) => type.startsWith('subagent')),
    [
      { type: 'subagent_started', id: 't-1', hidden: true, prompt: 'look', call: 'i1' },
      { type: 'subagent_started', id: 't-2', hidden: true, prompt: 'look', call: 'i1' },
      { type: 'subagent_ended', id: 't-1', ok: true },
      { type: 'subagent_ended', id: 't-2', ok: false, reason: 'no disk' },
    ],
  );
});

test('gemini: a shell result without an exit code is undecided, and a subagent runs as long as its call', () => {
  const call = (name: string, id: string) => ({
    type: 'tool_use',
    tool_name: name,
    tool_id: id,
    parameters: { prompt: 'p' },
  });
  const back = (id: string, status = 'success') => ({ type: 'tool_result', tool_id: id, status, output: 'x' });
  const events = read(
    geminiReader(),
    call('run_shell_command', 'a'),
    back('a'),
    call('read_file', 'b'),
    back('b'),
    call('invoke_agent', 'c'),
    back('c', 'error'),
  );
  assert.deepEqual(
    events.map((event) => [event.type, 'ok' in event ? event.ok : undefined]),
    [
      ['tool_use', undefined],
      ['tool_result', undefined],
      ['tool_use', undefined],
      ['tool_result', true],
      ['tool_use', undefined],
      ['subagent_started', undefined],
      ['tool_result', false],
      ['subagent_ended', false],
    ],
  );
});

test('opencode: a failed command is a failure whatever its status, and reasoning tokens are output', () => {
  const tool = (state: object) => ({ type: 'tool_use', sessionID: 's', part: { callID: 'c', tool: 'bash', state } });
  const okOf = (state: object) => read(opencodeReader(), tool(state)).find(({ type }) => type === 'tool_result');
  assert.deepEqual(
    [
      { status: 'completed', metadata: { exit: 0 } },
      { status: 'completed', metadata: { exit: 1 } },
      { status: 'completed', metadata: {} },
      { status: 'error', error: 'not found' },
    ].map((state) => (okOf(state) as { ok?: boolean }).ok),
    [true, false, true, false],
  );
  const tokens = { input: 90, output: 16, reasoning: 8, cache: { read: 10, write: 3 } };
  const part = { id: 'p', type: 'step-finish', reason: 'tool-calls', tokens, cost: 0 };
  const [, , usage] = read(opencodeReader({ model: 'm' }), { type: 'step_finish', sessionID: 's', part });
  assert.deepEqual(usage, {
    type: 'usage',
    id: 'p',
    model: 'm',
    inputTokens: 103,
    outputTokens: 24,
    cacheReadTokens: 10,
    cacheWriteTokens: 3,
  });
});

test('heartbeat: tasks start and end in every spelling, and events without a task belong to the last one', () => {
  const events = read(
    heartbeatReader(plainTextReader()),
    '[heartbeat] {"phase":"starting","taskId":"a","agent":"Research Specialist"}',
    '[heartbeat] starting b',
    '[heartbeat] starting b',
    'some text',
    '[heartbeat] phase=thinking task=a',
    '[heartbeat] phase=error task=b reason="no network"',
    'more text',
    '{"type":"[heartbeat]","phase":"done","taskId":"a"}',
    '[heartbeat] done nobody',
    'alone',
  );
  assert.deepEqual(events, [
    { type: 'subagent_started', id: 'a', isPart: true, name: 'Research Specialist' },
    { type: 'subagent_started', id: 'b', isPart: true },
    { type: 'heartbeat', agent: 'b' },
    { type: 'heartbeat', agent: 'b' },
    { type: 'heartbeat', agent: 'a' },
    { type: 'subagent_ended', id: 'b', ok: false, reason: 'no network' },
    { type: 'heartbeat', agent: 'a' },
    { type: 'subagent_ended', id: 'a', ok: true },
    { type: 'heartbeat' },
    { type: 'heartbeat' },
  ]);
});

test('other programs: events count by name and task, and other lines are text', () => {
  const events = read(
    readerFor(['python', 'agent.py']).reader(),
    '[heartbeat] starting a',
    { type: 'tool_use', name: 'scrape', id: 'x', input: { page: 1 }, taskId: 'b' },
    { type: 'usage', usage: { input_tokens: 4, cache_read_input_tokens: 3, output_tokens: 2 } },
    { type: 'assistant', text: 'hello', toolUse: true },
    { some: 'log line' },
  );
  assert.deepEqual(events, [
    { type: 'heartbeat' },
    { type: 'subagent_started', id: 'a', isPart: true },
    { type: 'tool_use', id: 'x', name: 'scrape', input: { page: 1 }, agent: 'b' },
    {
      type: 'usage',
      id: 'unnamed-usage-1',
      inputTokens: 7,
      outputTokens: 2,
      cacheReadTokens: 3,
      cacheWriteTokens: 0,
      agent: 'a',
    },
    { type: 'assistant', text: 'hello', toolUse: true, agent: 'a' },
    {
      type: 'notice',
      level: 'warning',
      text:
        'not understood: JSON lines with the fields "some"; only limits of time hold for them ' +
        '(--mapping FILE says what they are)',
      isAboutReading: true,
    },
    { type: 'heartbeat', agent: 'a' },
  ]);
});

test('generic: fields are found by their paths, and calls with reused ids are distinguished', () => {
  const reader = mappedJsonReader({
    kind: 'event.kind',
    events: {
      call: { as: 'tool_use', id: 'event.n', name: 'event.tool', input: 'event.args' },
      back: { as: 'tool_result', id: 'event.n', ok: 'event.status', output: 'event.out', error: 'event.err' },
      cost: { as: 'usage', model: 'm', input_tokens: 'in', output_tokens: 'out', cost_usd: 'usd' },
      end: { as: 'result', ok: 'good', text: 'said' },
    },
  });
  const call = { event: { kind: 'call', n: 1, tool: 'sql', args: { q: 'x' } } };
  const back = (status: unknown) => ({ event: { kind: 'back', n: 1, status, out: 'rows' } });
  assert.deepEqual(read(reader, call, back('ok'), call, back('failed'), { event: { kind: 'other' } }), [
    { type: 'tool_use', id: '1', name: 'sql', input: { q: 'x' } },
    { type: 'tool_result', id: '1', ok: true, output: 'rows' },
    { type: 'tool_use', id: '1#2', name: 'sql', input: { q: 'x' } },
    { type: 'tool_result', id: '1#2', ok: false, output: 'rows' },
    { type: 'heartbeat' },
  ]);
  assert.deepEqual(types(read(reader, { event: { kind: 'cost' }, in: 3 }, { event: { kind: 'end' } })), [
    'usage',
    'result',
  ]);
});

test('generic: an invalid mapping is an error that quotes the mapping', () => {
  const rows: readonly (readonly [unknown, RegExp])[] = [
    [{ events: {} }, /at least one kind of event/],
    [{ kind: 3, events: { a: { as: 'user' } } }, /kind must be a path, got 3/],
    [{ events: { a: { as: 'talk' } } }, /events\.a\.as must be one of assistant, .*got "talk"/],
    [{ events: { a: { as: 'user', txt: 'x' } } }, /events\.a\.txt is not a field/],
    [{ events: { a: { as: 'user', text: '' } } }, /events\.a\.text must be a path, got ""/],
  ];
  for (const [wrong, message] of rows) {
    assert.throws(() => mappedJsonReader(wrong as never), { code: 'mapping_invalid', message });
  }
});

test('plain: paragraphs are texts, short ones and lines are signs of life', () => {
  const reader = plainTextReader();
  const long = 'one two three four five six seven eight nine';
  const events = read(reader, long, 'and more', '', 'ok', '', '', long);
  assert.deepEqual(
    events.filter(({ type }) => type === 'assistant'),
    [{ type: 'assistant', text: `${long}\nand more` }],
  );
  assert.deepEqual(reader.end(), [{ type: 'assistant', text: long }]);
});
