/** Streams of agent programs outside the known four, as they print them: healthy runs pass, spirals are halted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountEvents, readerFor } from '../../../src/agents/index.ts';
import { createSwitchgear, type TaskSettings } from '../../../src/index.ts';

interface Program {
  /** The lines of a turn: words, a call and its result. */
  turn(n: number, words: string, input: string, answer: string): readonly object[];
  /** Lines before and after the turns. */
  readonly start?: readonly object[];
  end?(turns: number): readonly object[];
  /** Tokens of a turn; absent where the program does not report them. */
  readonly tokens?: readonly [input: number, output: number];
  /** Whether nobody knows what its tools do: then a short answer says little. */
  readonly isUnknown?: true;
  /** Dollars of a run of twelve turns, where the program reports money alone. */
  readonly dollars?: number;
}

const programs: Readonly<Record<string, Program>> = {
  cursor: {
    start: [
      { type: 'system', subtype: 'init', session_id: 's1', model: 'Claude 4 Sonnet', permissionMode: 'default' },
      { type: 'user', message: { role: 'user', content: [{ type: 'text', text: 'Mend it.' }] }, session_id: 's1' },
    ],
    turn: (n, words, path, content) => [
      { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: words }] }, session_id: 's1' },
      call('started', n, { readToolCall: { args: { path } } }),
      call('completed', n, { readToolCall: { args: { path }, result: { success: { content, totalLines: 3 } } } }),
    ],
    end: () => [
      { type: 'result', subtype: 'success', duration_ms: 5234, is_error: false, result: 'Done', session_id: 's1' },
    ],
  },
  goose: {
    turn: (n, words, command, text) => [
      message(`m${n}`, 'assistant', [{ type: 'text', text: words.slice(0, 8) }]),
      message(`m${n}`, 'assistant', [{ type: 'text', text: words.slice(8) }]),
      message(`m${n}`, 'assistant', [
        {
          type: 'toolRequest',
          id: `c${n}`,
          toolCall: { status: 'success', value: { name: 'shell', arguments: { command } } },
        },
      ]),
      message(`u${n}`, 'user', [
        { type: 'toolResponse', id: `c${n}`, toolResult: { status: 'success', value: [{ type: 'text', text }] } },
      ]),
    ],
    end: (turns) => [{ type: 'complete', total_tokens: 110 * turns }],
    tokens: [0, 110],
  },
  amp: {
    start: [{ type: 'system', subtype: 'init', session_id: 'T-1', tools: ['Read'], mcp_servers: [] }],
    turn: (n, words, path, content) => [
      {
        type: 'assistant',
        message: {
          type: 'message',
          role: 'assistant',
          content: [
            { type: 'text', text: words },
            { type: 'tool_use', id: `c${n}`, name: 'Read', input: { path } },
          ],
          stop_reason: 'tool_use',
          usage: { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 0, max_tokens: 968_000 },
        },
        parent_tool_use_id: null,
        session_id: 'T-1',
      },
      {
        type: 'user',
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${n}`, content, is_error: false }] },
      },
    ],
    end: () => [
      { type: 'result', subtype: 'success', is_error: false, num_turns: 12, result: 'Done', session_id: 'T-1' },
    ],
    tokens: [100, 10],
  },
  'qwen-code': {
    turn: (n, words, path, content) => [
      {
        type: 'assistant',
        uuid: `u${n}`,
        message: {
          id: `m${n}`,
          role: 'assistant',
          model: 'qwen3-coder',
          content: [
            { type: 'text', text: words },
            { type: 'tool_use', id: `c${n}`, name: 'read_file', input: { path } },
          ],
          usage: { inputTokens: '100', outputTokens: '10' },
        },
      },
      { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${n}`, content }] } },
    ],
    end: () => [
      { type: 'result', subtype: 'success', usage: { inputTokens: 1_200, outputTokens: 120 }, total_cost_usd: 9 },
    ],
    tokens: [100, 10],
  },
  'copilot cli': {
    isUnknown: true,
    start: [{ type: 'session.start', data: { sessionId: 's1' } }],
    turn: (n, words, path, content) => [
      { type: 'assistant.turn_start', data: { turnId: `${n}` } },
      {
        type: 'assistant.message',
        data: {
          messageId: `m${n}`,
          content: words,
          toolRequests: [{ toolCallId: `c${n}`, name: 'view', arguments: { path } }],
        },
      },
      { type: 'assistant.usage', data: { model: 'gpt-5', inputTokens: 100, outputTokens: 10, cost: 1 } },
      { type: 'tool.execution_start', data: { toolCallId: `c${n}`, toolName: 'view', arguments: { path } } },
      { type: 'tool.execution_complete', data: { toolCallId: `c${n}`, success: true, result: { content } } },
    ],
    tokens: [100, 10],
  },
  openhands: {
    isUnknown: true,
    turn: (n, words, command, content) => [
      { type: 'action', id: 3 * n, action: 'message', source: 'agent', args: { content: words } },
      { type: 'action', id: 3 * n + 1, action: 'run', command },
      { type: 'observation', id: 3 * n + 2, cause: 3 * n + 1, observation: 'run', content },
    ],
  },
  'openhands with tool calls': {
    turn: (n, words, command, text) => [
      {
        kind: 'MessageEvent',
        source: 'agent',
        llm_message: { role: 'assistant', content: [{ type: 'text', text: words }] },
      },
      { kind: 'ActionEvent', id: `a${n}`, tool_name: 'terminal', tool_call_id: `c${n}`, action: { command } },
      {
        kind: 'ObservationEvent',
        id: `o${n}`,
        tool_name: 'terminal',
        tool_call_id: `c${n}`,
        observation: { content: [{ type: 'text', text }], is_error: false },
      },
    ],
  },
  pi: {
    turn: (n, words, path, text) => [
      { type: 'turn_start' },
      { type: 'message_update', assistantMessageEvent: { type: 'text_delta', delta: words } },
      {
        type: 'message_end',
        message: {
          role: 'assistant',
          content: [
            { type: 'text', text: words },
            { type: 'toolCall', id: `c${n}`, name: 'read', arguments: { path } },
          ],
          usage: { input: 60, output: 10, cacheRead: 40, cacheWrite: 0, totalTokens: 110, cost: { total: 0.001 } },
        },
      },
      { type: 'tool_execution_start', toolCallId: `c${n}`, toolName: 'read', args: { path } },
      { type: 'tool_execution_end', toolCallId: `c${n}`, toolName: 'read', result: text, isError: false },
      { type: 'turn_end', message: {}, toolResults: [] },
    ],
    tokens: [100, 10],
  },
  droid: {
    isUnknown: true,
    turn: (n, words, command, value) => [
      { type: 'message', role: 'assistant', id: `m${n}`, text: words },
      { type: 'tool_call', id: `c${n}`, toolId: 'Execute', toolName: 'Execute', parameters: { command } },
      { type: 'tool_result', id: `c${n}`, toolId: 'Execute', isError: false, value },
    ],
    end: () => [{ type: 'completion', finalText: 'Done', numTurns: 12, durationMs: 99 }],
  },
  codebuff: {
    isUnknown: true,
    turn: (n, words, path, value) => [
      { type: 'text', text: words.slice(0, 5) },
      { type: 'text', text: words.slice(5) },
      { type: 'tool_call', toolCallId: `c${n}`, toolName: 'read_files', input: { path } },
      { type: 'tool_result', toolCallId: `c${n}`, toolName: 'read_files', output: [{ type: 'json', value }] },
    ],
    end: () => [{ type: 'finish', agentId: 'main', totalCost: 0.5 }],
    dollars: 0.5,
  },
  'a program with envelopes': {
    turn: (n, words, path, content) => [
      { protocol: 1, type: 'assistant', payload: { text: words } },
      { protocol: 1, type: 'tool_started', payload: { callId: `c${n}`, tool: 'Read', input: { path } } },
      { protocol: 1, type: 'tool_completed', payload: { callId: `c${n}`, success: true, content } },
      { protocol: 1, type: 'usage', data: { prompt_tokens: 100, completion_tokens: 10 } },
    ],
    tokens: [100, 10],
  },
  'a program with sums of money': {
    turn: (n, words, path, output) => [
      { event: 'assistant', text: words },
      { event: 'tool_call', id: `c${n}`, name: 'read', args: { path } },
      { event: 'tool_result', id: `c${n}`, output },
      { event: 'result', text: words, total_cost_usd: `${((n + 1) / 4).toFixed(2)}` },
    ],
    dollars: 3,
  },
};

function call(subtype: string, n: number, tool_call: object): object {
  return { type: 'tool_call', subtype, call_id: `c${n}`, tool_call, session_id: 's1' };
}

function message(id: string, role: string, content: readonly object[]): object {
  return { type: 'message', message: { id, role, created: 1, content } };
}

function run(lines: readonly unknown[], settings: Partial<TaskSettings> = {}) {
  const gear = createSwitchgear({ policy: { task: settings }, log: 'silent' });
  const task = gear.startTask();
  const accounting = accountEvents(gear, task);
  const reader = readerFor(['./their-agent']).reader();
  const notices: string[] = [];
  for (const line of lines) {
    for (const event of reader.read(JSON.stringify(line))) {
      if (event.type === 'notice') notices.push(event.text);
      accounting.account(event);
    }
  }
  accounting.end();
  const counters = gear.snapshot().tasks.find(({ id }) => id === task.id)!;
  return { halt: accounting.halt?.code, spent: accounting.spent, calls: counters.toolCalls, notices };
}

const plans = [
  'I read the parser to see how it treats quotes',
  'The lexer drops the last token of a line',
  'Now the tests of nested lists',
  'Two of them fail, both in the same branch',
  'I change the order of the checks there',
];

function play({ start = [], turn, end = () => [] }: Program, turns: number): readonly object[] {
  const each = (n: number) => turn(n, `${plans[n % 5]}, part ${n * n}`, `src/${n}.ts`, `${plans[(n * 3) % 5]} ${n}`);
  return [...start, ...Array.from({ length: turns }, (_, n) => each(n)).flat(), ...end(turns)];
}

for (const [name, program] of Object.entries(programs)) {
  test(`programs: ${name}: a healthy run of twelve turns passes, and is counted once`, () => {
    const { halt, spent, calls, notices } = run(play(program, 12));
    assert.deepEqual([halt, calls, notices], [undefined, 12, []]);
    const [input = 0, output = 0] = program.tokens ?? [];
    assert.deepEqual([spent.inputTokens, spent.outputTokens], [12 * input, 12 * output]);
    if (program.dollars !== undefined) assert.equal(Math.round(spent.costUsd * 1_000), 1_000 * program.dollars);
  });

  test(`programs: ${name}: the same call with the same answer, and too many calls, are halted`, () => {
    const again = (answer: string) => {
      const { halt, calls } = run(
        Array.from({ length: 20 }, (_, n) => program.turn(n, 'I read it again.', 'a.ts', answer)).flat(),
      );
      return [halt, calls];
    };
    assert.deepEqual(again('export {};'.repeat(10)), ['tool_loop', 6]);
    assert.deepEqual(again('export {};'), ['tool_loop', program.isUnknown ? 13 : 6]);
    assert.equal(run(play(program, 60)).halt, 'tool_call_limit');
  });
}

test('programs: turns with neither words nor calls are a loop, and one message in progress is not', () => {
  const empty = (id: string) => ({ type: 'assistant', message: { id, role: 'assistant', content: [] } });
  assert.equal(run([empty('m1'), empty('m2'), empty('m3')]).halt, 'output_loop');
  assert.equal(run(Array.from({ length: 9 }, () => empty('m1'))).halt, undefined);
  const healthy = Array.from({ length: 9 }, (_, n) => [
    empty(`m${n}`),
    ...programs.droid!.turn(n, plans[n % 5]!, `${n}`, `${n}`),
  ]);
  assert.equal(run(healthy.flat()).halt, undefined);
});

test('programs: tokens and money are read under all usual names, as numbers and as texts', () => {
  const spentOf = (...lines: readonly object[]) => {
    const { spent } = run(lines);
    return [spent.inputTokens, spent.outputTokens];
  };
  for (const line of [
    { type: 'usage', data: { input_tokens: 100, output_tokens: 10 } },
    { type: 'usage', tokens: { input: 100, output: 10 } },
    { type: 'usage', tokens: { input: '100', output: '10' } },
    { type: 'usage', data: { usage: { promptTokens: 100, completionTokens: 10 } } },
    { type: 'tokens', tokensIn: 100, tokensOut: 10 },
    { type: 'token_count', input_tokens: '100', output_tokens: '10' },
    { tokens: { prompt: 100, completion: 10 } },
    { type: 'assistant', text: 'hello', tokens: { input: 100, output: 10 } },
    { type: 'assistant', id: 'm1', text: 'hello', usage: { inputTokens: 100, outputTokens: 10 } },
    { type: 'done', input_tokens: 100, output_tokens: 10 },
    { type: 'result', subtype: 'success', usage: { input_tokens: 100, output_tokens: 10 } },
  ]) {
    assert.deepEqual(spentOf(line), [100, 10], JSON.stringify(line));
  }
  const closing = { type: 'result', output: '42', text: 'The answer is 42.' };
  assert.deepEqual(spentOf(closing), [0, 0]);
});

test('programs: a sum of money is counted where nothing else was, and never twice', () => {
  const centsOf = (...lines: readonly object[]) => Math.round(100 * run(lines).spent.costUsd);
  const total = (dollars: unknown) => ({ type: 'result', subtype: 'success', result: 'ok', total_cost_usd: dollars });
  assert.equal(centsOf(total(0.5)), 50);
  assert.equal(centsOf(total('0.50')), 50);
  assert.equal(centsOf(total(0.5), total(0.75), total(0.75)), 75);
  assert.equal(centsOf({ type: 'usage', cost_usd: 0.4 }, total(0.4)), 40);
  assert.equal(centsOf({ type: 'usage', costUsd: '0.4' }, { type: 'usage', costUsd: '0.1' }, total(0.5)), 50);
  assert.equal(centsOf({ type: 'usage', total_cost: 0.1 }, { type: 'usage', total_cost: 0.3 }, total(0.3)), 30);
  assert.equal(centsOf({ type: 'usage', total_cost: 0.1 }, { type: 'usage', total_cost: 0.3 }), 30);
  assert.equal(centsOf({ type: 'usage', cost_usd: 0.4 }, total(0.4), total(0.6)), 60);
  const counted = { type: 'usage', input_tokens: 1, output_tokens: 1, total_cost_usd: 0.2 };
  assert.equal(centsOf(counted, total(0.2), total(0.5)), 30);
  assert.equal(centsOf(total(-1), total('much'), total(Number.NaN)), 0);
  assert.equal(run([total(60)]).halt, 'token_spend_limit');
});
