/** Money and tokens where only hooks look: read from the file that the host writes, once, and held to the limits. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { findProvider } from '@pydantic/genai-prices';
import { claudeSessionReader } from '../../../src/agents/index.ts';
import { hookTranscriptBytesMax } from '../../../src/core/limits.ts';
import { type CachedRates, createPriceCache } from '../../../src/hooks/spend/price-cache.ts';
import { type ReadMark, readNewUsage } from '../../../src/hooks/spend/transcript.ts';
import { priceBook } from '../../../src/prices/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { bash, type HookSession, newSession, prompt, stop, writeRunAround } from '../hook-session.ts';

const model = 'claude-opus-5-5';

/** A line of a transcript. */
function line(id: string, input: number, output = 0): string {
  const usage = { input_tokens: input, output_tokens: output, cache_read_input_tokens: 0 };
  return JSON.stringify({ type: 'assistant', message: { id, model, role: 'assistant', content: [], usage } });
}

interface Conversation {
  readonly hookSession: HookSession;
  readonly path: string;
  /** A model call: its lines in a file, each with what it had used by then. */
  used(id: string, input: number, output: number, file?: string): void;
  /** An event that names the file. */
  send(event: object, env?: Readonly<Record<string, string>>): ReturnType<HookSession['send']>;
  spent(): readonly { readonly task: string | undefined; readonly tokens: number }[];
}

function conversation(context: TestContext): Conversation {
  const hookSession = newSession();
  context.after(hookSession.clear);
  const path = join(hookSession.folder, 's-1.jsonl');
  return {
    hookSession,
    path,
    used(id, input, output, file = path) {
      mkdirSync(dirname(file), { recursive: true });
      for (const out of [1, output, output]) appendFileSync(file, `${line(id, input, out)}\n`);
    },
    send: (event, env) => hookSession.send({ transcript_path: path, ...event }, env),
    spent: () =>
      hookSession
        .journal()
        .flatMap((entry) => (entry.type === 'usage-observed' ? [{ task: entry.task, tokens: entry.cost.tokens }] : [])),
  };
}

test('the usage of a request is read once from the transcript, without earlier usage', async (context) => {
  const { used, send, spent } = conversation(context);
  used('before', 9_000, 900);
  await send(prompt('fix it'));
  used('m1', 100, 20);
  const call = bash('c1', 'ls');
  await send(call.pre);
  await send(call.post);
  used('m2', 200, 30);
  await send(call.batch);
  await send(stop);
  const tokens = spent().map((each) => each.tokens);
  assert.equal(
    tokens.reduce((sum, each) => sum + each, 0),
    350,
  );
  assert.equal(new Set(spent().map(({ task }) => task)).size, 1);
});

test('a call after the spend limit is reached is refused and ends the run', async (context) => {
  const { used, send, hookSession } = conversation(context);
  const limit = { SWITCHGEAR_TASK_MAX_SPEND_CENTS: '10' };
  await send(prompt('fix it'), limit);
  used('m1', 10_000, 100); // 4.2 cents.
  assert.equal((await send(bash('c1', 'ls').pre, limit)).output, undefined);
  used('m2', 10_000, 100);
  used('m3', 10_000, 100);
  const { output } = await send(bash('c2', 'pwd').pre, limit);
  assert.deepEqual([output?.continue, output?.hookSpecificOutput?.permissionDecision], [false, 'deny']);
  assert.match(output?.stopReason ?? '', /spend: \$0\.13 of \$0\.10/);
  assert.deepEqual(
    hookSession
      .cards()
      .filter(({ kind }) => kind === 'halt')
      .map(({ code }) => code),
    ['token_spend_limit'],
  );
});

test('a token limit also ends the run after a call', async (context) => {
  const { used, send } = conversation(context);
  const limit = { SWITCHGEAR_TASK_MAX_TOKENS: '1000' };
  await send(prompt('fix it'), limit);
  const call = bash('c1', 'ls');
  await send(call.pre, limit);
  used('m1', 2_000, 10);
  assert.equal((await send(call.post, limit)).output?.continue, false);
});

test('the usage in the file of a subagent counts for the subagent and for the request', async (context) => {
  const { used, send, spent, path } = conversation(context);
  const limit = { SWITCHGEAR_TASK_MAX_TOKENS: '100' };
  await send(prompt('fix it'), limit);
  used('m1', 100, 10, path.replace('.jsonl', '/subagents/agent-a1.jsonl'));
  await send({ ...bash('x1', 'ls', 'a1').pre }, limit);
  const closing = (await send({ ...bash('x2', 'pwd', 'a1').pre }, limit)).output;
  assert.deepEqual([closing?.continue, closing?.hookSpecificOutput?.permissionDecision], [undefined, 'deny']);
  assert.equal((await send({ ...bash('x3', 'id', 'a1').pre }, limit)).output?.continue, false);
  assert.match((await send(bash('m1', 'ls').pre, limit)).output?.stopReason ?? '', /tokens: 110 of 100/);
  assert.deepEqual(
    spent().map(({ task, tokens }) => [task?.endsWith('/a1'), tokens]),
    [[true, 110]],
  );
});

test('inside a run the hooks do not count usage', async (context) => {
  const { used, send, spent, hookSession } = conversation(context);
  writeRunAround(hookSession, 't-run');
  const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run', SWITCHGEAR_TASK_MAX_TOKENS: '1' };
  await send(prompt('fix it'), env);
  used('m1', 100, 10);
  assert.equal((await send(bash('c1', 'ls').pre, env)).output, undefined);
  assert.deepEqual(spent(), []);
});

test('hooks count the usage of an agent whose run is lost', async (context) => {
  const { used, send, hookSession } = conversation(context);
  writeRunAround(hookSession, 't-run', { state: 'lost' });
  const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run', SWITCHGEAR_TASK_MAX_TOKENS: '1' };
  await send(prompt('fix it'), env);
  used('m1', 100, 10);
  assert.equal((await send(bash('c1', 'ls').pre, env)).output?.continue, false);
});

function file(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-transcript-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'session.jsonl');
}

test('an incomplete line waits, an overlong line is skipped, a truncated file adds no usage', (context) => {
  const path = file(context);
  let mark: ReadMark | undefined;
  const read = () => {
    const found = readNewUsage(path, mark, false, claudeSessionReader({ besideStream: true }));
    mark = found?.mark ?? mark;
    return found?.used.map(({ inputTokens }) => inputTokens);
  };
  assert.deepEqual(read(), [], 'it is not there yet');
  appendFileSync(path, `${line('m1', 5)}\n${line('m2', 6).slice(0, 40)}`);
  assert.deepEqual(read(), [5]);
  assert.deepEqual(read(), []);
  appendFileSync(path, `${line('m2', 6).slice(40)}\n`);
  assert.deepEqual(read(), [6]);
  appendFileSync(path, `${'x'.repeat(hookTranscriptBytesMax + 10)}\n${line('m3', 7)}\n`);
  assert.deepEqual(read(), []);
  assert.deepEqual(read(), [7]);
  truncateSync(path, 10);
  assert.deepEqual(read(), []);
});

test('invalid UTF-8 does not shift the read position, and a pipe instead of a file does not block', (context) => {
  const path = file(context);
  const reader = () => claudeSessionReader({ besideStream: true });
  appendFileSync(path, Buffer.concat([Buffer.alloc(200, 0xff), Buffer.from('\n')]));
  const first = readNewUsage(path, undefined, true, reader());
  appendFileSync(path, `${line('m1', 5)}\n`);
  assert.deepEqual(
    readNewUsage(path, first?.mark, true, reader())?.used.map(({ inputTokens }) => inputTokens),
    [5],
  );
  execFileSync('mkfifo', [`${path}.pipe`]);
  assert.equal(readNewUsage(`${path}.pipe`, first?.mark, true, reader()), undefined);
});

test('cached rates give the price of the price book, and an unknown model has the highest rate', () => {
  const book = priceBook();
  const keeper = createPriceCache({});
  for (const usage of [
    { model, inputTokens: 12_345, outputTokens: 678, cacheReadTokens: 9_000, cacheWriteTokens: 345 },
    { model: 'claude-haiku-4-5', inputTokens: 10, outputTokens: 5 },
    { model: 'gemini-3.1-pro-preview', inputTokens: 300_000, outputTokens: 1_000 },
    { model: 'gemini-3.1-pro-preview', inputTokens: 30_000, outputTokens: 1_000 },
    { model: 'no-such-model', inputTokens: 1_000, outputTokens: 10 },
  ]) {
    assert.equal(keeper.has(usage), false);
    keeper.load(book, usage);
    assert.equal(keeper.has(usage), true);
    const again = createPriceCache(JSON.parse(JSON.stringify(keeper.rates)));
    assert.equal(again.prices.price(usage)?.costUsd, book.price(usage)?.costUsd, JSON.stringify(usage));
    if (book.price(usage) === undefined) assert.deepEqual(again.prices.highestPrice(usage), book.highestPrice(usage));
  }
});

test('the price cache prices each request of a growing conversation as the price book does', () => {
  const book = priceBook();
  const starts = new Set<number>();
  for (const provider of ['anthropic', 'openai', 'google']) {
    for (const { id, prices } of findProvider({ providerId: provider })?.models ?? []) {
      if (Array.isArray(prices) || book.price({ model: id, inputTokens: 1, outputTokens: 0 }) === undefined) continue;
      const rates = Object.values(prices).flatMap((rate) => (typeof rate === 'object' ? rate.tiers : []));
      for (const { start } of rates) starts.add(start);
      const keeper = createPriceCache();
      for (const inputTokens of [900, 130_000, 140_000, ...starts, ...[...starts].map((each) => each + 1), 900_000]) {
        const usage = { model: id, inputTokens, outputTokens: 1_000, cacheReadTokens: Math.floor(inputTokens / 2) };
        if (!keeper.has(usage)) keeper.load(book, usage);
        const [kept, output] = [keeper.prices, book].map((prices) => prices.price(usage)!.costUsd * 1_000_000) as [
          number,
          number,
        ];
        assert.ok(Math.abs(kept - output) <= 2 + output / 100_000, `${id}, ${inputTokens}: ${kept} for ${output}`);
      }
    }
  }
  assert.ok(starts.size > 1, 'some models have rates by size');
});

test('the rates of a model are stored for the next hook', async (context) => {
  const { used, send, hookSession } = conversation(context);
  await send(prompt('fix it'));
  used('m1', 10_000, 100);
  await send(bash('c1', 'ls').pre);
  const store = sqliteStore({ path: hookSession.store.slice('sqlite:'.length) });
  context.after(() => store.close());
  const [row] = await store.shared.read('hook-rates', 1);
  const usage = { model, inputTokens: 10_000, outputTokens: 100 };
  const keeper = createPriceCache(row?.state as CachedRates);
  assert.deepEqual(keeper.prices.price(usage), priceBook().price(usage));
});
