/** Programs that nobody has described: their JSON lines are read by shape, in any mix, and nothing else is counted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountEvents, readerFor } from '../../src/agents/index.ts';
import type { TaskSettings } from '../../src/index.ts';
import { createSwitchgear } from '../../src/index.ts';

type Turn = (n: number) => readonly unknown[];

/** One turn of each shape: words, a call with a result, and 100 tokens in and 10 out. */
const shapes: Readonly<Record<string, Turn>> = {
  'Claude-like': (n) => [
    {
      type: 'assistant',
      message: {
        id: `m${n}`,
        content: [text(n), { type: 'tool_use', id: `c${n}`, name: 'look', input: { n } }],
        usage: { input_tokens: 100, output_tokens: 10 },
      },
    },
    { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: `c${n}`, content: `page ${n}` }] } },
  ],
  'Claude-like without ids of messages': (n) => [
    { type: 'assistant', message: { content: [text(n)] } },
    {
      type: 'assistant',
      message: {
        content: [{ type: 'tool_use', name: 'look', input: { n } }],
        usage: { input_tokens: 100, output_tokens: 10 },
      },
    },
  ],
  'messages with content blocks': (n) => [
    { role: 'assistant', content: [text(n), { type: 'tool_use', id: `c${n}`, name: 'look', input: { n } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${n}`, content: `page ${n}` }] },
    { type: 'usage', inputTokens: 100, outputTokens: 10 },
  ],
  'Codex-like': (n) => [
    { type: 'item.completed', item: { id: `t${n}`, type: 'agent_message', text: words(n) } },
    { type: 'item.started', item: { id: `c${n}`, type: 'command_execution', command: `look ${n}` } },
    {
      type: 'item.completed',
      item: { id: `c${n}`, type: 'command_execution', command: `look ${n}`, aggregated_output: `${n}`, exit_code: 0 },
    },
    { type: 'turn.completed', usage: { input_tokens: 100 * (n + 1), output_tokens: 10 * (n + 1) } },
  ],
  'Gemini-like': (n) => [
    { type: 'message', role: 'assistant', content: words(n), delta: true },
    { type: 'tool_use', tool_name: 'look', tool_id: `c${n}`, parameters: { n } },
    { type: 'tool_result', tool_id: `c${n}`, status: 'success', output: `page ${n}` },
    { type: 'usage', usageMetadata: {}, promptTokenCount: 100, candidatesTokenCount: 10 },
  ],
  'the Gemini API': (n) => [
    {
      candidates: [{ content: { parts: [{ text: words(n) }, { functionCall: { name: 'look', args: { n } } }] } }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 8, thoughtsTokenCount: 2 },
    },
  ],
  'OpenAI chat': (n) => [
    {
      object: 'chat.completion',
      id: `r${n}`,
      model: 'gpt-5',
      choices: [{ message: { role: 'assistant', content: words(n), tool_calls: [chatCall(n)] } }],
      usage: { prompt_tokens: 100, completion_tokens: 10 },
    },
    { role: 'tool', tool_call_id: `c${n}`, content: `page ${n}` },
  ],
  'OpenAI chat in chunks': (n) => [
    chunk(n, { content: `${words(n)} and ` }),
    chunk(n, { content: 'more' }),
    chunk(n, { tool_calls: [{ index: 0, ...chatCall(n) }] }),
    chunk(n, {}, 'tool_calls'),
    `data: ${JSON.stringify({ id: `r${n}`, choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } })}`,
    'data: [DONE]',
  ],
  'OpenAI responses': (n) => [
    { type: 'response.output_text.delta', delta: 'look' },
    {
      type: 'response.output_item.done',
      item: { id: `i${n}`, type: 'message', role: 'assistant', content: [{ type: 'output_text', text: words(n) }] },
    },
    { type: 'response.output_item.done', item: { id: `f${n}`, type: 'function_call', call_id: `c${n}`, ...called(n) } },
    {
      type: 'response.completed',
      response: {
        id: `r${n}`,
        output: [{ id: `f${n}`, type: 'function_call', call_id: `c${n}`, ...called(n) }],
        usage: { input_tokens: 100, output_tokens: 10, input_tokens_details: { cached_tokens: 40 } },
      },
    },
    { type: 'function_call_output', call_id: `c${n}`, output: `page ${n}` },
  ],
  'opencode-like': (n) => [
    { type: 'text', sessionID: 's1', part: { text: words(n), messageID: `m${n}` } },
    {
      type: 'tool_use',
      sessionID: 's1',
      part: { callID: `c${n}`, tool: 'look', state: { status: 'completed', input: { n }, output: `page ${n}` } },
    },
    { type: 'step_finish', sessionID: 's1', part: { id: `p${n}`, tokens: { input: 100, output: 10 } } },
  ],
  'the events of the documents': (n) => [
    { type: 'assistant', text: '' },
    { type: 'tool_use', name: 'look', input: { n } },
    { type: 'tool_result', ok: true, output: `page ${n}` },
    { type: 'usage', usage: { input_tokens: 100, output_tokens: 10 } },
  ],
  'events of the AI SDK': (n) => [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', text: `${words(n)} ` },
    { type: 'tool-call', toolCallId: `c${n}`, toolName: 'look', input: { n } },
    { type: 'tool-result', toolCallId: `c${n}`, toolName: 'look', output: `page ${n}` },
    { type: 'finish-step', usage: { inputTokens: 100, outputTokens: 10 } },
  ],
  'the raw stream of Anthropic': (n) => [
    { type: 'message_start', message: { id: `m${n}`, model: 'claude-x', usage: { input_tokens: 100 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words(n) } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: `c${n}`, name: 'look' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"n":' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: `${n}}` } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', usage: { output_tokens: 10 } },
    { type: 'message_stop' },
  ],
};

function words(n: number): string {
  return (
    ['Reading the parser', 'The tests fail in the lexer', 'I change the grammar', 'Now the types', 'Docs'][n % 5]! +
    n * n
  );
}

function text(n: number) {
  return { type: 'text', text: words(n) };
}

function called(n: number) {
  return { name: 'look', arguments: JSON.stringify({ n }) };
}

function chunk(n: number, delta: object, finish_reason?: string): string {
  return `data: ${JSON.stringify({ id: `r${n}`, choices: [{ index: 0, delta, finish_reason }] })}`;
}

function chatCall(n: number) {
  return { id: `c${n}`, type: 'function', function: called(n) };
}

function run(turns: readonly unknown[], settings: Partial<TaskSettings> = {}) {
  const gear = createSwitchgear({ policy: { task: settings }, log: 'silent' });
  const task = gear.startTask();
  const accounting = accountEvents(gear, task);
  const reader = readerFor(['python', 'agent.py']).reader();
  const notices: string[] = [];
  const count = (events: ReturnType<typeof reader.read>) => {
    for (const event of events) {
      if (event.type === 'notice') notices.push(event.text);
      accounting.account(event);
    }
  };
  for (const turn of turns) count(reader.read(typeof turn === 'string' ? turn : JSON.stringify(turn)));
  count(reader.end());
  accounting.end();
  return {
    halt: accounting.halt,
    spent: accounting.spent,
    counters: gear.snapshot().tasks.find(({ id }) => id === task.id)!,
    notices,
  };
}

const turnsOf = (shape: Turn, turns: number) => Array.from({ length: turns }, (_, n) => shape(n)).flat();

for (const [name, shape] of Object.entries(shapes)) {
  test(`shapes: ${name}: a healthy run of twelve turns passes, and its calls and tokens are counted`, () => {
    const { halt, counters, spent, notices } = run(turnsOf(shape, 12));
    assert.equal(halt?.code, undefined);
    assert.equal(counters.toolCalls, 12);
    assert.deepEqual([spent.inputTokens, spent.outputTokens], [1_200, 120]);
    assert.deepEqual(notices, []);
  });

  test(`shapes: ${name}: the limits of calls and tokens hold`, () => {
    assert.equal(run(turnsOf(shape, 60)).halt?.code, 'tool_call_limit');
    assert.equal(run(turnsOf(shape, 20), { maxTokens: 1_000 }).halt?.code, 'token_limit');
  });
}

test('shapes: all shapes in one stream are counted together', () => {
  const mixed = Object.values(shapes).flatMap((shape, n) => shape(n + 100));
  const { halt, counters, notices } = run(mixed);
  assert.equal(halt?.code, undefined);
  assert.equal(counters.toolCalls, Object.keys(shapes).length);
  assert.deepEqual(notices, []);
});

const notUnderstood: Readonly<Record<string, Turn>> = {
  'content under another name': () => [{ type: 'assistant', message: { parts: [{ kind: 'text', body: 'again' }] } }],
  'blocks of an unknown type': () => [{ type: 'assistant', message: { content: [{ kind: 'say', body: 'again' }] } }],
  'an assistant without a text': () => [{ type: 'assistant', says: 'again' }],
  'a call without a name': () => [{ type: 'tool_use', op: 'read', ref: 'x1' }],
  'usage without tokens': () => [{ type: 'usage', spent: 5 }],
  'a log': () => [{ level: 'info', msg: 'still here' }],
  'an unknown type': () => [{ type: 'agent.tick', data: { text: 'again' } }],
  'a list in place of an object': () => [{ type: 'assistant', message: [] }],
};

for (const [name, shape] of Object.entries(notUnderstood)) {
  test(`shapes: ${name}: counts as nothing, and is reported once without its contents`, () => {
    const { halt, counters, spent, notices } = run(turnsOf(shape, 100));
    assert.equal(halt?.code, undefined);
    assert.deepEqual([counters.toolCalls, spent.inputTokens + spent.outputTokens], [0, 0]);
    assert.equal(notices.length, 1);
    assert.match(notices[0]!, /^not understood: JSON lines (of type|with the fields) "/);
    assert.doesNotMatch(notices[0]!, /again|still here/);
  });
}

test('shapes: failed results are failures, however they say it', () => {
  const ways = [
    { ok: false },
    { is_error: true },
    { isError: true },
    { success: false },
    { status: 'failed' },
    { error: 'no such file' },
    { error: { message: 'no such file' } },
    { exit_code: 2 },
  ];
  const reader = readerFor(['python', 'agent.py']).reader();
  const results = ways.map((way, n) => reader.read(JSON.stringify({ type: 'tool_result', id: `c${n}`, ...way }))[0]);
  assert.deepEqual(
    results.map((each) => each?.type === 'tool_result' && each.ok),
    ways.map(() => false),
  );
});

test('shapes: an agent that says the same words in each turn is halted', () => {
  const again = {
    type: 'assistant',
    message: { content: [{ type: 'text', text: 'I will look at the file once more.' }] },
  };
  assert.equal(run(Array.from({ length: 10 }, () => again)).halt?.code, 'output_loop');
});

test('shapes: words that several responses repeat are a loop, pieces of one are not', () => {
  const say = 'I will look at the file once more.';
  const gemini = (rest: object) => ({ candidates: [{ content: { parts: [{ text: say }] }, ...rest }] });
  const chat = (n: number) => ({ id: `r${n}`, choices: [{ delta: { content: say } }] });
  const each = (line: (n: number) => object) => run(Array.from({ length: 10 }, (_, n) => line(n))).halt?.code;
  assert.equal(
    each(() => gemini({ finishReason: 'STOP' })),
    'output_loop',
  );
  assert.equal(each(chat), 'output_loop');
  assert.equal(
    each(() => gemini({})),
    undefined,
  );
  assert.equal(
    each(() => chat(1)),
    undefined,
  );
});

test('shapes: tokens alone are counted, and those of a closing line without models', () => {
  const tokens = (line: object) => {
    const { spent, notices } = run([line]);
    return [spent.inputTokens, spent.outputTokens, notices.length];
  };
  assert.deepEqual(tokens({ usage: { input_tokens: 100, output_tokens: 10 } }), [100, 10, 0]);
  assert.deepEqual(tokens({ usage: { prompt_tokens: 100, completion_tokens: 10 }, model: 'gpt-4o' }), [100, 10, 0]);
  assert.deepEqual(tokens({ usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10 } }), [100, 10, 0]);
  const stats = { total_tokens: 110, input_tokens: 100, output_tokens: 10 };
  assert.deepEqual(tokens({ type: 'result', status: 'success', stats }), [100, 10, 0]);
  assert.deepEqual(tokens({ kind: 'cpu', usage: { input_tokens: 100 } }), [0, 0, 1]);
});

test('shapes: the sums of a closing line are not counted twice, and count where nothing else does', () => {
  const closing = {
    type: 'result',
    subtype: 'success',
    result: 'done',
    usage: { input_tokens: 100, output_tokens: 10 },
  };
  const counted = { type: 'usage', input_tokens: 100, output_tokens: 10 };
  assert.equal(run([counted, closing]).spent.inputTokens, 100);
  assert.equal(run([closing]).spent.inputTokens, 100);
  assert.equal(run([closing, closing]).spent.inputTokens, 200);
});
