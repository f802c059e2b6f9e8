/** The durations that only a process can know, as histograms of the real OpenTelemetry SDK. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { createSwitchgear, type SwitchgearOptions } from 'switchgear';
import { measure } from 'switchgear/adapters/opentelemetry';
import { sqliteStore } from 'switchgear/stores/sqlite';

/** A measured gear, and what the SDK exports of it. */
function stage(options: SwitchgearOptions = {}) {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  const gear = createSwitchgear({ log: 'silent', env: {}, ...options });
  const stop = measure(gear, provider.getMeter('switchgear'));
  /** The number of recorded values by attributes, for each metric. */
  const read = async () => {
    await provider.forceFlush();
    const metrics =
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    exporter.reset();
    const points = metrics.map(({ descriptor, dataPoints }) => [
      descriptor.name,
      dataPoints.map(({ attributes, value }) => ({ ...attributes, ...(value as { count: number; sum: number }) })),
    ]);
    return Object.fromEntries(points) as Record<string, ({ count: number; sum: number } & Record<string, unknown>)[]>;
  };
  return { gear, stop, read, end: () => provider.shutdown() };
}

function newFile(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-otel-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'state.db');
}

test('decisions are timed by outcome, until the gear is no longer measured', async () => {
  const { gear, stop, read, end } = stage({ policy: { circuit_breaker: { failure_threshold: 2 } } });
  const fail = gear.guard('fail', () => Promise.reject(new Error('503')));
  for (let at = 0; at < 3; at++) await Promise.resolve(fail()).catch(() => undefined);
  const { 'switchgear.decision.duration': decisions = [], ...others } = await read();
  assert.deepEqual(Object.keys(others), []);
  const counts = decisions.map((each) => [each['switchgear.outcome'], each['switchgear.path'], each.count]);
  assert.deepEqual(counts, [
    ['allow', 'local', 2],
    ['deny', 'local', 1],
  ]);
  assert.ok(decisions.every(({ sum }) => sum > 0));
  stop();
  await fail();
  assert.deepEqual(
    (await read())['switchgear.decision.duration']?.map(({ count }) => count),
    [2, 1],
  );
  await end();
});

test('operations of the store, and trips of another process, are timed', async (context) => {
  const path = newFile(context);
  const policy = { circuit_breaker: { failure_threshold: 1 } };
  const { gear, read, end } = stage({ store: sqliteStore({ path }), policy, project: 'p' });
  const other = createSwitchgear({ store: sqliteStore({ path }), policy, project: 'p', log: 'silent', env: {} });
  const call = gear.guard('search', async () => 1);
  await call();
  await Promise.resolve(other.run('search', () => Promise.reject(new Error('503')))).catch(() => undefined);
  await call(); // Sees the trip before it decides.
  const metrics = await read();
  assert.ok(metrics['switchgear.propagation.duration']?.[0]?.count === 1, JSON.stringify(metrics));
  gear.breaker('search').reset();
  const operations = (await read())['switchgear.store.duration'] ?? [];
  assert.ok(operations[0]!.count > 0);
  assert.equal(operations[0]!['switchgear.operation'], 'transaction');
  gear.dispose();
  other.dispose();
  await end();
});
