import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mappedJsonReader } from '../../src/agents/index.ts';
import { type EventMapping, mappedFields, mappedKinds } from '../../src/core/event-mapping.ts';

/** Every field stands where its own name, in capitals, says. */
const paths = (...fields: readonly (typeof mappedFields)[number][]) =>
  Object.fromEntries(fields.map((field) => [field, `at.${field.toUpperCase()}`]));

const rows: readonly [mapping: EventMapping, line: object, event: object][] = [
  [
    { as: 'assistant', ...paths('text', 'agent') },
    { TEXT: 'hello', AGENT: 'ann' },
    { type: 'assistant', text: 'hello', agent: 'ann' },
  ],
  [
    { as: 'tool_use', ...paths('id', 'name', 'input') },
    { ID: 7, NAME: 'sql', INPUT: { q: 1 } },
    { type: 'tool_use', id: '7', name: 'sql', input: { q: 1 } },
  ],
  [
    { as: 'tool_result', ...paths('id', 'ok', 'output', 'error') },
    { ID: 7, OK: 'failed', OUTPUT: 'rows', ERROR: 'no table' },
    { type: 'tool_result', id: '7', ok: false, output: 'rows', error: 'no table' },
  ],
  [
    { as: 'tool_result', ...paths('id', 'ok', 'output') },
    { ID: 8, OK: false, OUTPUT: 'rows' },
    { type: 'tool_result', id: '8', ok: false, output: 'rows' },
  ],
  [
    {
      as: 'usage',
      ...paths('id', 'model', 'input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'cost_usd'),
    },
    {
      ...{ ID: 'm1', MODEL: 'big', COST_USD: 0.5 },
      ...{ INPUT_TOKENS: 1, OUTPUT_TOKENS: 2, CACHE_READ_TOKENS: 3, CACHE_WRITE_TOKENS: 4 },
    },
    {
      ...{ type: 'usage', id: 'm1', model: 'big', costUsd: 0.5 },
      ...{ inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 },
    },
  ],
  [{ as: 'user', ...paths('text') }, { TEXT: 'go on' }, { type: 'user', text: 'go on', by: 'person' }],
  [
    { as: 'subagent_started', ...paths('id', 'name', 'parent') },
    { ID: 's1', NAME: 'cook', PARENT: 's0' },
    { type: 'subagent_started', id: 's1', name: 'cook', parent: 's0' },
  ],
  [
    { as: 'subagent_ended', ...paths('id', 'ok') },
    { ID: 's1', OK: true },
    { type: 'subagent_ended', id: 's1', ok: true },
  ],
  [{ as: 'result', ...paths('text') }, { TEXT: 'done' }, { type: 'result', ok: true, final: true, text: 'done' }],
  [{ as: 'notice', ...paths('text') }, { TEXT: 'by the way' }, { type: 'notice', level: 'info', text: 'by the way' }],
];

test('every event kind and every field that a mapping can name is read', () => {
  for (const [mapping, at, event] of rows) {
    const reader = mappedJsonReader({ events: { mine: mapping } });
    assert.deepEqual(reader.read(JSON.stringify({ type: 'mine', at })), [event]);
  }
});

test('the table of this file covers every event kind and every field of a mapping', () => {
  const said = rows.map(([mapping]) => mapping);
  assert.deepEqual([...new Set(said.map(({ as }) => as))], [...mappedKinds]);
  const fields = new Set(said.flatMap(({ as: _, ...named }) => Object.keys(named)));
  assert.deepEqual([...fields].sort(), [...mappedFields].sort());
});
