/**
 * Mixed requests of all APIs, with clients that leave and a provider that fails: what the gateway meters is compared
 * with a count of its own of what the provider sent. `npm run test:gateway` sends 10,000.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises';
import { createTaskLedger } from '../../../src/gateway/task-ledger.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { openGateway } from '../harness.ts';
import { countMicros, countTokens, lettersPerToken, type PlannedRequest, planRequests } from './plan.ts';
import { openProvider, type Sent } from './provider.ts';

const count = Number(process.env.GATEWAY_REQUESTS ?? 300);
const parallel = 32;

test(`${count} mixed requests cost exactly what the provider sent`, async (context) => {
  const plan = planRequests(count);
  const provider = await openProvider(plan);
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-mixed-'));
  const store = sqliteStore({ path: join(folder, 'gear.db') });
  const policy = { budgets: [{ scope: 'global', unit: 'spend_cents', limit: 1_000_000 }] } as const;
  const { port, runtime, gear } = await openGateway(context, {
    upstream: provider.url,
    gear: { store, policy },
  });
  context.after(() => {
    provider.close();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const ledger = createTaskLedger(runtime)!;
  const totals = { micros: 0, tokens: 0, calls: 0 };
  const kinds = new Map<string, number>();

  async function run(planned: PlannedRequest): Promise<void> {
    const received = await send(port, planned, provider.sent[planned.id]!);
    const id = `gw-t${planned.id}`;
    const task = runtime.tasks.get(id)!;
    const { state } = task.cells.budget;
    // The gateway sees the end of a connection a little later.
    for (let at = 0; at < 5_000 && state.reservedTokens > 0; at++) await sleep(1);
    const kind = check(planned, provider.sent[planned.id]!, received, state);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    totals.micros += state.micros;
    totals.tokens += state.tokens;
    totals.calls++;
    assert.ok(state.reservedMicros === 0 && state.reservedTokens === 0 && state.modelCalls === 1);
    await endOfTurn();
    await store.shared.settled();
    const { micros, tokens } = state;
    assert.deepEqual(await ledger.load(id), { micros, tokens, modelCalls: 1 }, id);
  }

  const queue = [...plan];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await run(next);
  };
  await Promise.all(Array.from({ length: parallel }, work));
  assert.equal(totals.calls, count);
  for (const kind of ['exact', 'free', 'dropped', 'unreported']) assert.ok((kinds.get(kind) ?? 0) > 0, kind);
  gear.dispose();
  await store.shared.settled();
  const reader = sqliteStore({ path: join(folder, 'gear.db') });
  const used = reader.cell('budget/global/spend_cents/ever', () => ({ at: 0, sums: [0] })).state.sums[0];
  reader.close();
  assert.equal(used, totals.micros, 'the joint budget has every call once');
  context.diagnostic(JSON.stringify({ ...totals, ...Object.fromEntries(kinds) }));
});

/** Compares one call; returns what kind of a call it was. */
function check(
  planned: PlannedRequest,
  sent: Sent,
  received: string,
  { micros, tokens, estimatedMicros }: { micros: number; tokens: number; estimatedMicros?: number },
): string {
  const { api, ending, id, isStream } = planned;
  const label = `${id} ${api} ${isStream ? 'stream' : 'JSON'} ${ending}`;
  if (ending === 'status') {
    assert.deepEqual({ micros, tokens }, { micros: 0, tokens: 0 }, label);
    return 'free';
  }
  if (sent.hasUsage) {
    assert.deepEqual(
      { micros, tokens },
      { micros: countMicros(api, planned.tokens), tokens: countTokens(planned.tokens) },
      label,
    );
    assert.equal(estimatedMicros, undefined, label);
    return 'exact';
  }
  const { output: _, ...input } = planned.tokens;
  const due = countTokens({ ...input, output: sent.outputTokens });
  const dueMicros = countMicros(api, { ...input, output: sent.outputTokens });
  if (!isStream) {
    // Nothing is known of the answer: it costs as much as the model usually writes.
    assert.ok(tokens >= due, `${label}: ${tokens} of ${due}`);
    return 'unanswered';
  }
  const letters = [...received.matchAll(/abc /g)].length * lettersPerToken;
  assert.ok(tokens >= letters / lettersPerToken, `${label}: ${tokens} for ${letters} letters`);
  assert.ok(tokens >= due && tokens <= due * 1.1 + 3, `${label}: ${tokens} of ${due}`);
  // What was read from a cache is not known before the end.
  if (planned.tokens.read === 0 || sent.hasInput)
    assert.ok(micros >= dueMicros && micros <= dueMicros * 1.1 + 50, `${label}: ${micros} of ${dueMicros}`);
  return ending === 'drop' ? 'dropped' : 'unreported';
}

/** Sends a request; leaves after some of the answer if the plan says so. Returns what came. */
function send(port: number, planned: PlannedRequest, provided: Sent): Promise<string> {
  const { id, path, body, ending, isStream, chunks, cutAfter } = planned;
  const due = chunks.slice(0, cutAfter).reduce((sum, each) => sum + each, 0);
  return new Promise((resolve) => {
    let text = '';
    const leave = async () => {
      while (provided.attempts === 0) await sleep(1);
      sent.destroy();
    };
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: `/task/t${id}${path}`,
        headers: { 'content-type': 'application/json' },
      },
      (response) => {
        response.on('data', (part: Buffer) => {
          text += part.toString();
          if (ending === 'drop' && isStream && [...text.matchAll(/abc /g)].length >= due) sent.destroy();
        });
        response.on('close', () => resolve(text));
      },
    );
    sent.on('error', () => resolve(text));
    sent.end(body);
    if (ending === 'drop' && !isStream) void leave();
  });
}
