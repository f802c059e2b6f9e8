/** A gear as spans of the real OpenTelemetry SDK. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as api from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { createSwitchgear, type PolicyInput } from 'switchgear';
import { trace } from 'switchgear/adapters/opentelemetry';

/** A gear whose spans are kept; providers are handed in, so that nothing global is set. */
function stage(policy: PolicyInput) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const gear = createSwitchgear({ agent: 'Researcher', session: 's-1', log: 'silent', env: {}, policy });
  const traces = {
    getTracer: (name: string) => provider.getTracer(name),
    setSpan: (context: api.Context, span: api.Span) => api.trace.setSpan(context, span),
  };
  const stop = trace(gear, { trace: traces, context: api.context });
  return { gear, stop, spans: () => exporter.getFinishedSpans() };
}

test('a task is a span with its calls below it, named by the conventions', async () => {
  const { gear, spans } = stage({ journal: { level: 'all' } });
  const read = gear.guard('read', async () => 'page');
  await gear.task({ id: 'report' }, async () => {
    await read();
    await gear.delegate('helper', async () => 'done');
  });
  const task = spans().find(
    ({ attributes }) => attributes['switchgear.task'] === 'report' && !attributes['gen_ai.tool.name'],
  );
  assert.equal(task?.name, 'invoke_agent Researcher');
  assert.equal(task?.attributes['gen_ai.conversation.id'], 's-1');
  const below = spans().filter(({ parentSpanContext }) => parentSpanContext?.spanId === task?.spanContext().spanId);
  assert.deepEqual(below.map(({ name }) => name).sort(), ['execute_tool read', 'invoke_agent helper']);
});

test('a refused call is a span with the reason as its error, and a halt is an event of its task', async () => {
  const { gear, spans } = stage({ task: { max_tool_calls: 1 } });
  const read = gear.guard('read', async () => 'page');
  await gear.task({}, async () => {
    await read();
    await read();
  });
  const refused = spans().find(({ name }) => name === 'execute_tool read');
  assert.equal(refused?.attributes['error.type'], 'tool_call_limit');
  assert.equal(refused?.attributes['switchgear.counter.limit'], 1);
  const task = spans().find(({ name }) => name === 'invoke_agent Researcher');
  assert.equal(task?.status.code, api.SpanStatusCode.ERROR);
  assert.deepEqual(
    task?.events.map(({ name }) => name),
    ['switchgear.task_halted'],
  );
});

test('spans record the error class and breaker openings, and no span is written after the end', async () => {
  const { gear, spans, stop } = stage({ journal: { level: 'all' } });
  const broken = gear.guard('broken', async () => {
    throw new RangeError('down');
  });
  await gear.task({}, async () => {
    for (let attempt = 0; attempt < 5; attempt++) await broken().catch(() => {});
  });
  const calls = spans().filter(({ name }) => name === 'execute_tool broken');
  assert.deepEqual(new Set(calls.map(({ attributes }) => attributes['error.type'])), new Set(['RangeError']));
  const task = spans().find(({ name }) => name === 'invoke_agent Researcher');
  assert.ok(task?.events.some(({ name }) => name === 'switchgear.breaker_opened'));
  stop();
  const before = spans().length;
  await gear.task({}, async () => {});
  assert.equal(spans().length, before);
});
