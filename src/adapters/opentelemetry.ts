/**
 * Creates OpenTelemetry spans of tasks, calls and refusals, by its semantic conventions for generative AI, and metrics
 * of what only this process can know: how long decisions, the store and news of other processes take.
 */

import type { Action, ActionKind } from '../core/action.ts';
import { evictOldest } from '../core/bounded.ts';
import type { Entry } from '../core/event.ts';
import { hostRunsMax } from '../core/limits.ts';
import type { Stop } from '../core/verdict.ts';
import type { Switchgear } from '../guard/api.ts';
import { type Runtime, runtimeOf, timeDecisions } from '../guard/internal.ts';
import type { SharedStore } from '../ports/store.ts';

type Attributes = Record<string, string | number | boolean>;

/** The subset of a span that is used. */
interface SpanLike {
  setAttributes(attributes: Attributes): unknown;
  addEvent(name: string, attributes: Attributes, time: number): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(time: number): void;
}

interface TracerLike {
  startSpan(name: string, options: { startTime: number; attributes: Attributes }, context?: never): SpanLike;
}

/** The subset of the package `@opentelemetry/api` that is used; pass the whole module. */
export interface OpenTelemetryApi {
  readonly trace: { getTracer(name: string): TracerLike; setSpan(context: never, span: never): unknown };
  readonly context: { active(): unknown };
}

interface HistogramLike {
  record(value: number, attributes?: Attributes): void;
}

/** The subset of a meter that is used. */
export interface OpenTelemetryMeter {
  createHistogram(
    name: string,
    options: { description: string; unit: string; advice: { explicitBucketBoundaries: number[] } },
  ): HistogramLike;
}

/** The operation name of each kind of action. */
const operations: { readonly [kind in ActionKind]: string } = {
  tool: 'execute_tool',
  step: 'execute_tool',
  model: 'chat',
  delegation: 'invoke_agent',
};

const statusError = 2;

/**
 * Creates spans from the entries of a gear until the returned function is called. Tasks and refusals are always
 * traced; allowed calls need the journal level `all`.
 * @example
 * import * as api from '@opentelemetry/api';
 * import { createSwitchgear } from 'switchgear';
 * import { trace } from 'switchgear/adapters/opentelemetry';
 *
 * const gear = createSwitchgear({ policy: { journal: { level: 'all' } } });
 * const stop = trace(gear, api);
 */
export function trace(gear: Switchgear, { trace: traces, context }: OpenTelemetryApi): () => void {
  const tracer = traces.getTracer('switchgear');
  const tasks = new Map<string, SpanLike>();
  const calls = new Map<string, SpanLike>();

  /** Starts a span as a child of the task's span, or of the active span. */
  function startSpanFor(name: string, entry: Entry, attributes: Attributes, parent = entry.task): SpanLike {
    const parentSpan = parent === undefined ? undefined : tasks.get(parent);
    const activeContext = context.active();
    const spanContext =
      parentSpan === undefined ? activeContext : traces.setSpan(activeContext as never, parentSpan as never);
    const all = { ...entryAttributes(entry), ...attributes };
    return tracer.startSpan(name, { startTime: entry.wallMs, attributes: all }, spanContext as never);
  }

  function startCall(entry: Entry, action: Action): SpanLike {
    const { kind, name, id } = action;
    const operation = operations[kind];
    const target = kind === 'model' ? { 'gen_ai.request.model': name } : { 'gen_ai.tool.name': name };
    const attributes = { 'gen_ai.operation.name': operation, 'gen_ai.tool.call.id': String(id), ...target };
    return startSpanFor(`${operation} ${name}`, entry, attributes);
  }

  function recordEntry(entry: Entry): void {
    const { task = '', agent = '', wallMs } = entry;
    switch (entry.type) {
      case 'task-started': {
        evictOldest(tasks, hostRunsMax);
        const attributes = { 'gen_ai.operation.name': 'invoke_agent' };
        tasks.set(task, startSpanFor(`invoke_agent ${agent}`, entry, attributes, entry.parent));
        return;
      }
      case 'task-halted': {
        const span = tasks.get(task);
        span?.addEvent('switchgear.task_halted', stopAttributes(entry.stop), wallMs);
        if (span !== undefined && entry.enforced) markFailed(span, entry.stop.code, entry.message);
        return;
      }
      case 'task-ended':
        if (entry.how === 'error') markFailed(tasks.get(task), 'error');
        tasks.get(task)?.end(wallMs);
        tasks.delete(task);
        return;
      case 'action-allowed':
        if (entry.action.kind === 'delegation') return; // The span of the worker's task covers the delegation.
        evictOldest(calls, hostRunsMax);
        calls.set(`${task}\n${entry.action.id}`, startCall(entry, entry.action));
        return;
      case 'action-settled': {
        const key = `${task}\n${entry.permit.action.id}`;
        const span = calls.get(key);
        calls.delete(key);
        if (entry.outcome.kind === 'failure') markFailed(span, entry.outcome.error);
        span?.end(wallMs);
        return;
      }
      case 'action-refused': {
        const span = startCall(entry, entry.action);
        const stop = entry.decision.verdict as Stop;
        span.setAttributes({ ...stopAttributes(stop), 'switchgear.enforced': entry.enforced });
        markFailed(span, stop.code, entry.message);
        span.end(wallMs);
        return;
      }
      case 'breaker-opened':
      case 'breaker-half-opened':
      case 'breaker-closed': {
        const name = `switchgear.${entry.type.replaceAll('-', '_')}`;
        tasks.get(task)?.addEvent(name, { 'switchgear.breaker': entry.name }, wallMs);
        return;
      }
      case 'work-ended':
      case 'usage-observed': {
        if (entry.cost === undefined) return;
        const { micros, tokens } = entry.cost;
        const cost = { 'switchgear.tokens': tokens, 'switchgear.cost_usd': micros / 1_000_000 };
        const model = entry.type === 'work-ended' ? entry.permit.action.name : entry.model;
        tasks.get(task)?.addEvent('switchgear.usage', { 'gen_ai.request.model': model, ...cost }, wallMs);
        return;
      }
      default:
        return; // Other entries make no spans.
    }
  }

  return gear.onEntry(recordEntry);
}

/** The bounds of the buckets, in seconds: 1 µs to 100 ms for decisions, 100 µs to 10 s for what crosses processes. */
const decisionBounds = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 5e-3, 0.025, 0.1];
const storeBounds = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/**
 * Records histograms of a gear until the returned function is called: the durations of decisions, of operations of the
 * store, and from a trip in another process until this one knows it. No attribute is an id.
 * @example
 * import * as api from '@opentelemetry/api';
 * import { createSwitchgear } from 'switchgear';
 * import { measure } from 'switchgear/adapters/opentelemetry';
 *
 * const stop = measure(createSwitchgear(), api.metrics.getMeter('switchgear'));
 */
export function measure(gear: Switchgear, meter: OpenTelemetryMeter): () => void {
  const runtime = runtimeOf(gear);
  const { shared } = runtime.store;
  const create = (name: string, description: string, bounds: number[]) =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries: bounds } });
  const decisions = create('switchgear.decision.duration', 'Duration of a decision about an action.', decisionBounds);
  const path = shared === undefined ? 'local' : 'shared';
  const stops = [
    timeDecisions(runtime, (outcome, ms) => {
      decisions.record(ms / 1000, { 'switchgear.outcome': outcome, 'switchgear.path': path });
    }),
  ];
  if (shared !== undefined) {
    const operations = create('switchgear.store.duration', 'Duration of an operation of the store.', storeBounds);
    const stop = shared.measure?.((operation, ms) => {
      operations.record(ms / 1000, { 'switchgear.operation': operation });
    });
    if (stop !== undefined) stops.push(stop);
    const help = 'Time from a trip in another process until this process knows it.';
    stops.push(watchTrips(runtime, shared, create('switchgear.propagation.duration', help, storeBounds)));
  }
  return () => {
    for (const stop of stops) stop();
  };
}

/** Records when this process learns of trips that other processes made. */
function watchTrips({ breakers, clock }: Runtime, shared: SharedStore, propagation: HistogramLike): () => void {
  const known = new WeakMap<object, number>();
  return shared.watch((hint) => {
    const entry = hint.type === 'cell-changed' ? breakers.get(hint.key) : undefined;
    if (entry === undefined) return;
    const { phase, generation, tripTimesMs } = entry.cell.state;
    const seenMs = clock.nowMs();
    const tripMs = tripTimesMs.at(-1);
    if (phase !== 'open' || tripMs === undefined || (known.get(entry) ?? 0) >= generation) return;
    known.set(entry, generation);
    propagation.record(Math.max(0, seenMs - tripMs) / 1000);
  });
}

function entryAttributes({ agent, session, task }: Entry): Attributes {
  return {
    ...(agent !== undefined && { 'gen_ai.agent.name': agent }),
    ...(session !== undefined && { 'gen_ai.conversation.id': session }),
    ...(task !== undefined && { 'switchgear.task': task }),
  };
}

function stopAttributes({ code, control, counters }: Stop): Attributes {
  const numbers = Object.entries(counters).filter(([, value]) => typeof value === 'number');
  return {
    'switchgear.code': code,
    'switchgear.control': control,
    ...Object.fromEntries(numbers.map(([name, value]) => [`switchgear.counter.${name}`, Number(value)])),
  };
}

function markFailed(span: SpanLike | undefined, type: string, message?: string): void {
  span?.setAttributes({ 'error.type': type });
  span?.setStatus({ code: statusError, ...(message !== undefined && { message }) });
}
