/** `switchgear run --gateway`: an agent and a model of our own, with the gateway of the run between them. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Card } from '../../../src/core/card.ts';
import type { Entry } from '../../../src/index.ts';
import { startRedis, testWithRedis } from '../../redis-server.ts';
import { until } from '../../supervisor/processes.ts';
import { agentNode, createTestHomes, type TestHome } from './run-cli.ts';

const createHome = createTestHomes();
const long = { timeout: 120_000 };
const agentFile = fileURLToPath(new URL('./gateway-agent.ts', import.meta.url));

/** One turn of the model: a call with an input, or the end; what it used costs a tenth of a dollar. */
type Turn = { readonly call: object } | { readonly text: string } | 'silent';

/** A model that plays a script, and an agent on the path of a home. */
async function openStage(context: TestContext, script: (turn: number) => Turn) {
  const home = createHome();
  for (const name of ['claude', 'my-agent']) {
    writeFileSync(join(home.folder, name), `#!/bin/sh\nexec ${agentNode} "${agentFile}" "$@"\n`);
    chmodSync(join(home.folder, name), 0o755);
  }
  let turns = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response, script(turns), turns++));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const log = join(home.folder, 'base-urls');
  const env = {
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    GATEWAY_LOG: log,
  };
  return {
    ...home,
    env,
    turns: () => turns,
    /** The base URLs that the agents had, one for each start. */
    baseUrls: () => readFileSync(log, 'utf8').trim().split('\n'),
    run: (args: readonly string[], more: Readonly<Record<string, string>> = {}) => home.run(args, { ...env, ...more }),
  };
}

function answer(response: ServerResponse, turn: Turn, number: number): void {
  if (turn === 'silent') return;
  const content =
    'call' in turn
      ? { type: 'tool_use', id: `call_${number}`, name: 'Bash', input: turn.call }
      : { type: 'text', text: turn.text };
  const usage = { input_tokens: 30_000, output_tokens: 667 };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ id: `msg_${number}`, type: 'message', role: 'assistant', content: [content], usage }));
}

const claude = ['--', 'claude', '-p', 'work'];
const different = (turn: number): Turn => ({ call: { command: `step ${turn}` } });
const workFor = (turns: number) => (turn: number) => (turn < turns ? different(turn) : { text: 'done' });

async function readJournal({ run }: Pick<TestHome, 'run'>): Promise<readonly Entry[]> {
  const { out } = await run(['tail', '--json', '-n', '10000']);
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);
}

async function listCards({ run }: Pick<TestHome, 'run'>): Promise<readonly Card[]> {
  return JSON.parse((await run(['inbox', 'list', '--json'])).out) as Card[];
}

test('each model call is metered once, whatever the agent reports', long, async (context) => {
  const stage = await openStage(context, workFor(4));
  const { code, out, err } = await stage.run(['run', '--gateway', '--quiet', ...claude]);
  assert.deepEqual([code, out.trim()], [0, 'done'], err);
  assert.equal(stage.turns(), 5);
  const entries = await readJournal(stage);
  const settled = entries.filter((each) => each.type === 'action-settled' && each.cost !== undefined);
  assert.deepEqual(
    settled.map((each) => each.type === 'action-settled' && each.cost?.micros),
    Array.from({ length: 5 }, () => 100_005),
  );
  assert.deepEqual(
    entries.filter(({ type }) => type === 'usage-observed'),
    [],
  );
  assert.deepEqual(await listCards(stage), []);
});

/** The agent ends by itself after the closing answer, and the run is halted all the same. */
async function mustEndCleanly(stage: Awaited<ReturnType<typeof openStage>>, env = {}): Promise<void> {
  const { code, err } = await stage.run(['run', '--gateway', '--max-spend', '0.35', ...claude], env);
  assert.equal(code, 75, err);
  assert.match(err, /Halted by Switchgear: spend/);
  assert.match(err, /the agent had already ended/);
  assert.ok(stage.turns() <= 4, `${stage.turns()} turns`);
}

test('at a limit the agent gets a closing answer and ends by itself; a retry goes on', long, async (context) => {
  const stage = await openStage(context, workFor(5));
  await mustEndCleanly(stage);
  const [card, ...more] = await listCards(stage);
  assert.deepEqual([card?.code, more.length], ['token_spend_limit', 0]);
  const { code, out, err } = await stage.run(['inbox', 'retry', card!.id]);
  assert.deepEqual([code, out.trim()], [0, 'done'], err);
  const [first, second] = stage.baseUrls();
  assert.match(first!, /^http:\/\/127\.0\.0\.1:\d+\/run\/[\w-]{32}$/);
  assert.match(second!, /^http:\/\/127\.0\.0\.1:\d+\/run\/[\w-]{32}$/);
  assert.notEqual(first!.split('/').at(-1), second!.split('/').at(-1));
});

testWithRedis('at a limit the agent ends by itself, on a Redis store', long, async (context) => {
  const redis = await startRedis();
  context.after(() => redis.stop());
  await mustEndCleanly(await openStage(context, workFor(5)), { SWITCHGEAR_STORE: redis.url });
});

test('with --observe nothing is ended', long, async (context) => {
  const stage = await openStage(context, workFor(5));
  const run = ['run', '--gateway', '--observe', '--max-spend', '0.15', ...claude];
  const { code, out, err } = await stage.run(run);
  assert.deepEqual([code, out.trim(), stage.turns()], [0, 'done', 6], err);
  assert.match(err, /would halt it: /);
});

test('a program whose output shows nothing is ended in a loop', long, async (context) => {
  const stage = await openStage(context, () => ({ call: { command: 'cat missing' } }));
  const { code, out, err } = await stage.run(['run', '--gateway', '--quiet', '--', 'my-agent']);
  assert.equal(code, 75, err);
  assert.match(out, /Halted by Switchgear/);
  assert.ok(stage.turns() <= 12, `${stage.turns()} turns`);
  assert.deepEqual(
    (await listCards(stage)).map((card) => card.code),
    ['tool_loop'],
  );
});

test('a model that never answers is silence of the run', long, async (context) => {
  const stage = await openStage(context, (turn) => (turn === 0 ? different(0) : 'silent'));
  const run = ['run', '--gateway', '--quiet', '--grace', '0s', '--max-idle', '1s', '--', 'my-agent'];
  const { code, err } = await stage.run(run);
  assert.equal(code, 75, err);
  assert.match(err, /idle|silent/);
});

test('an agent that is not at its model is ended after the time of --grace', long, async (context) => {
  const stage = await openStage(context, (turn) => ({ call: { sleepMs: turn === 2 ? 600_000 : 0, turn } }));
  const run = ['run', '--gateway', '--quiet', '--grace', '1s', '--max-duration', '3s', ...claude];
  const { code, err } = await stage.run(run);
  assert.equal(code, 75, err);
  assert.match(err, /1 process was ended/);
});

test(
  'another token is refused, claimed ids are tasks of the run, and the gateway dies with it',
  long,
  async (context) => {
    const stage = await openStage(context, (turn) => ({ call: { sleepMs: 600_000, turn } }));
    const { child } = stage.start(['run', '--gateway', '--quiet', ...claude], stage.env);
    await until(() => stage.turns() === 1);
    const [url = ''] = stage.baseUrls();
    const post = (path: string, headers = {}) =>
      fetch(path, { method: 'POST', headers, body: '{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[]}' });
    const { origin } = new URL(url);
    for (const path of [`${origin}/v1/messages`, `${origin}/run/${'x'.repeat(32)}/v1/messages`]) {
      const refused = await post(path);
      assert.deepEqual([refused.status, refused.headers.get('x-should-retry')], [403, 'false']);
    }
    assert.equal(stage.turns(), 1);
    assert.equal((await post(`${url}/v1/messages`, { 'x-switchgear-task': 'first' })).status, 200);
    assert.equal((await post(`${url}/task/other/v1/messages`)).status, 200);
    const entries = await readJournal(stage);
    const tasks = entries.flatMap((each) => (each.type === 'task-started' ? [[each.task, each.parent]] : []));
    const [root] = tasks[0]!;
    assert.deepEqual(tasks, [
      [root, undefined],
      [`${root}/gw-other`, root],
    ]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await assert.rejects(fetch(`${origin}/health`));
  },
);
