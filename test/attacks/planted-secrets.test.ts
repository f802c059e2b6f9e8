/**
 * Secrets of all kinds in arguments, results, headers, errors and addresses of calls. At the default content level no
 * view has one; an open question shows its arguments with every kind masked.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { cardApprover } from '../../src/approvers/index.ts';
import { createChains } from '../../src/chains/run/chains.ts';
import { main } from '../../src/cli/main.ts';
import type { Card } from '../../src/core/card.ts';
import { showInput } from '../../src/guard/approval/shown-input.ts';
import { createSwitchgear } from '../../src/index.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { chainOf, counting, step } from '../chains/run/run-setup.ts';
import { createTestHome, openCard } from '../cli/run/run-cli.ts';
import { makeWebhook, quickAlerts, startReceiver, until } from '../server/alerts/alerts-setup.ts';
import { serve, type TestServer } from '../server/server-setup.ts';
import { play } from './hooked-host.ts';
import { findPlantedSecrets, type PlantedSecret, plantedSecrets } from './planted-secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-planted-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const long = { timeout: 120_000 };

/** A secret as agents carry it: alone, in words, in JSON, in commands and in addresses. */
const carriers: Readonly<Record<string, (text: string) => readonly unknown[]>> = {
  alone: (text) => [text],
  'in a field': (text) => [{ note: text }],
  'in words': (text) => [{ note: `please use ${text} now` }],
  'in a list': (text) => [{ a: { b: [text] } }],
  'in JSON': (text) => [JSON.stringify({ v: text })],
  'in JSON in JSON': (text) => [JSON.stringify({ v: JSON.stringify({ w: text }) })],
  'in a command': (text) => [{ command: `echo ${JSON.stringify(text)} | tee log` }],
  'in a header': (text) => [{ command: `curl -H '${text}' https://example.com` }],
  'in an address': (text) => [{ url: `https://example.com/?next=${encodeURIComponent(text)}` }],
  'as a key': (text) => [{ [text]: 1 }],
  'between lines': (text) => [`first\n${text}\nlast`],
  'in an error': (text) => [new Error(text)],
  'in a map': (text) => [new Map([['x', text]])],
  'in the middle of a long text': (text) => [`${'x '.repeat(300)}${text}${' y'.repeat(300)}`],
};

test('there are at least 50 kinds, and each is found where it is plain', () => {
  assert.ok(plantedSecrets.length >= 50);
  for (const { kind, text } of plantedSecrets) assert.deepEqual(findPlantedSecrets(`x ${text} y`), [kind]);
});

for (const [carrier, wrap] of Object.entries(carriers)) {
  test(`R33: a question masks every kind ${carrier}`, () => {
    const shown = plantedSecrets.filter(({ kind, text }) => findPlantedSecrets(showInput(wrap(text))).includes(kind));
    assert.deepEqual(
      shown.map(({ kind, text }) => [kind, showInput(wrap(text)).slice(0, 200)]),
      [],
    );
  });
}

/** What somebody with the store, a terminal, the page or a webhook can read, by the name of the view. */
async function readViews(server: TestServer, home: string, cards: readonly Card[]): Promise<Record<string, string>> {
  const paths = ['status', 'cards?state=all', 'standing', 'breakers', 'tasks', 'tasks/t/timeline', 'chains', 'store'];
  const more = ['alerts', 'tasks/t/timeline?format=jsonl', ...cards.map(({ id }) => `cards/${id}`)];
  const views: Record<string, string> = { '/metrics': (await server.send('GET', '/metrics')).text };
  for (const path of [...paths, ...more]) views[`/api/${path}`] = (await server.send('GET', `/api/${path}`)).text;
  views['/api/events'] = await readStream(server);
  for (const args of [['status', '--json'], ['tail', '-n', '500', '--json'], ['inbox', 'list', '--all'], ['alerts']])
    views[`switchgear ${args.join(' ')}`] = await runCommand(args, home);
  return { ...views, ...readFiles(home) };
}

/** All bytes of the files of a folder. */
function readFiles(home: string): Record<string, string> {
  const names = readdirSync(home, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return Object.fromEntries(
    names.map(({ name, parentPath }) => [name, readFileSync(join(parentPath, name), 'latin1')]),
  );
}

async function runCommand(args: readonly string[], home: string): Promise<string> {
  const lines: string[] = [];
  const env = { HOME: home, SWITCHGEAR_STORE: `sqlite:${join(home, 'state.db')}` };
  const print = (line: string) => void lines.push(line);
  await main(args, { cwd: home, env, out: print, err: print });
  return lines.join('\n');
}

/** The replay of the whole journal. */
async function readStream({ port, token }: TestServer): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'x-switchgear': '1' };
  const sent = request({ host: '127.0.0.1', port, path: '/api/events?after=0', agent: false, headers });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  response.on('error', () => undefined);
  await until(() => /event: entry\n/.test(text) || undefined);
  sent.destroy();
  return text;
}

function assertClean(views: Readonly<Record<string, string>>): void {
  const found = Object.entries(views).map(([view, text]) => [view, findPlantedSecrets(text)] as const);
  assert.deepEqual(
    found.filter(([, kinds]) => kinds.length > 0),
    [],
  );
}

const texts = plantedSecrets.map(({ text }) => text);

/** Calls of a library with every secret in every place. */
async function plantInLibrary(gear: ReturnType<typeof createSwitchgear>): Promise<void> {
  const fetchPage = gear.guard('fetch_page', async (_input: unknown) => ({ headers: texts, body: texts.join('\n') }));
  const refused = gear.guard('forbidden', async (_input: unknown) => 'never');
  let failures = 0;
  const fails = gear.guard('fails', async (input: PlantedSecret) => {
    failures++;
    throw Object.assign(new Error(`401 for ${input.text}`), { cause: input.text, url: input.text });
  });
  await gear.task({ id: 't', agent: 'A' }, async (task) => {
    for (const secret of plantedSecrets.slice(0, 20))
      await fetchPage({ url: secret.text, headers: { 'x-note': secret.text }, nested: [secret] });
    await fetchPage(plantedSecrets);
    for (const secret of plantedSecrets.slice(0, 6)) await fails(secret).catch(() => undefined);
    task.observe({ type: 'assistant', text: texts.join(' ') });
    task.observe({ type: 'tool_use', id: 'o', name: 'seen', input: plantedSecrets });
    task.observe({ type: 'tool_result', id: 'o', ok: false, output: texts.join('\n') });
  });
  await gear.task({ id: 'r' }, () => refused(plantedSecrets));
  assert.ok(failures > 0);
}

test('a library: no view has a secret, and a question only a masked one while it is open', long, async () => {
  const home = join(folder, 'library');
  const store: SqliteStore = sqliteStore({ path: join(home, 'state.db') });
  const logged: string[] = [];
  const gear = createSwitchgear({
    ...{
      store,
      env: {},
      project: 'p',
      log: (line: string) => void logged.push(line),
      approver: cardApprover({ store }),
    },
    policy: {
      journal: { level: 'all' },
      rules: [
        { condition: 'ability:forbidden', action: 'abort', reason: 'Not here.' },
        { target: 'tool:asked', condition: 'ability:asked', action: 'confirm' },
      ],
    },
  });
  const receiver = await startReceiver();
  const webhook = makeWebhook(receiver.url, { events: ['alerts', 'halts', 'questions'] });
  const server = await serve(store, { alerts: quickAlerts({ timeInOpenSecs: 0.001 }, [webhook]) });
  await until(async () => (await server.send('GET', '/api/alerts')).json.isEvaluated || undefined);
  await plantInLibrary(gear);
  const asked = gear.guard('asked', async (_input: unknown) => 'done');
  const groups = Object.values(Object.groupBy(plantedSecrets, (_, at) => String(Math.floor(at / 12))));
  const calls = groups.map((group) =>
    gear.task({ id: `q${group?.[0]?.kind}` }, () => asked({ notes: group?.map(({ text }) => text) })),
  );
  const readQuestions = async (): Promise<readonly Card[]> =>
    (await server.send('GET', '/api/cards?kind=ask&state=open&fold=false&limit=100')).json.cards;
  const open = await until(async () =>
    (await readQuestions()).length === groups.length ? readQuestions() : undefined,
  );
  const told = () => receiver.received.filter(({ json }) => json.type === 'question').length;
  await until(() => told() === groups.length || undefined);
  const { json } = await server.send('GET', `/api/cards/${open[0]!.id}`);
  assert.match(json.card.input, /\[hidden: /, 'an open question shows its arguments');
  assertClean(await readViews(server, home, open));

  for (const { id } of open) await server.send('POST', `/api/cards/${id}/answer`, { answer: 'decline' });
  await Promise.all(calls);
  const answered = (await server.send('GET', `/api/cards/${open[0]!.id}`)).json.card;
  assert.equal(answered.state === 'open', false);
  assert.equal(answered.input, undefined);
  assert.ok(answered.digest);
  await store.shared.settled();
  const sealed = (await store.shared.read('question-input/', 1_000)).filter(
    ({ state }) => (state as { value: string | null } | null)?.value != null,
  );
  assert.deepEqual(sealed, []);
  assertClean({
    ...(await readViews(server, home, open)),
    log: logged.join('\n'),
    webhooks: receiver.received.map(({ body, headers }) => body + JSON.stringify(headers)).join('\n'),
  });
  await server.close();
  gear.dispose();
});

test('hooks: no file has a secret', long, async (context) => {
  const script = `
    const texts = ${JSON.stringify(texts)};
    const input = { command: 'deploy', notes: texts, url: texts[0], headers: texts };
    const planted = { tool_name: 'Bash', tool_input: input };
    hook({ hook_event_name: 'UserPromptSubmit', prompt: texts.join(' ') });
    hook({ hook_event_name: 'PreToolUse', tool_use_id: 'a', ...planted });
    const tool_response = { stdout: texts.join('\\n') };
    hook({ hook_event_name: 'PostToolUse', tool_use_id: 'a', ...planted, tool_response });
    hook({ hook_event_name: 'PreToolUse', tool_use_id: 'b', ...planted });
    hook({ hook_event_name: 'PostToolUseFailure', tool_use_id: 'b', ...planted, error: texts.join('\\n') });
    console.log(JSON.stringify({ refused: 0, ran: 2 }));
  `;
  const { entries, folder: home } = await play(context, script, { journal: { level: 'all' } });
  assert.ok(entries.length > 0);
  const { 'host.mjs': _, ...files } = readFiles(home);
  assertClean(files);
});

test(
  'run: the store, the status and the log have no secret, and the run is continued with its command line',
  long,
  async () => {
    const home = createTestHome();
    try {
      const events = [
        { type: 'text', text: texts.join(' ') },
        { type: 'tool_use', id: 'a', name: 'x', input: { notes: texts, url: texts[0] } },
        { type: 'tool_result', id: 'a', ok: false, output: texts.join('\n') },
        ...Array.from({ length: 9 }, (_, at) => ({ type: 'tool_use', id: `b${at}`, name: 'y', input: { at, texts } })),
      ];
      const lines = join(folder, 'lines.txt');
      writeFileSync(lines, `${events.map((event) => JSON.stringify(event)).join('\n')}\n`);
      const seen = join(folder, 'arguments.txt');
      const script = `printf '%s\\n' "$@" >> ${seen}; cat ${lines}; sleep 20`;
      const { err } = await home.run(['run', '--max-calls', '3', '--', 'sh', '-c', script, 'sh', ...texts]);
      assert.match(err, /halted/);
      assert.equal(readFileSync(seen, 'utf8'), `${texts.join('\n')}\n`);
      const views = { ...readFiles(home.folder), status: (await home.run(['status', '--json'])).out };
      assertClean({ ...views, tail: (await home.run(['tail', '-n', '500', '--json'])).out });
      const { id } = await openCard(home);
      assert.match((await home.run(['inbox', 'retry', id])).err, /tool calls: 7 of 6/);
      assert.equal(readFileSync(seen, 'utf8'), `${texts.join('\n')}\n`.repeat(2));
      assertClean(readFiles(home.folder));
    } finally {
      home.clear();
    }
  },
);

test('chains: the store has no secret of parameters, results and errors', long, async () => {
  const home = join(folder, 'chains');
  const store = sqliteStore({ path: join(home, 'state.db') });
  const does = {
    read: () => ({ headers: texts }),
    call: () => {
      throw new Error(texts.join('\n'));
    },
  };
  const chains = createChains({ abilities: [counting(does)], store, log: 'silent', env: {} });
  const chain = chainOf(['read', step('call', { args: { url: '{{note}}' } })]);
  const params = [{ name: 'note', type: 'text', required: true } as const];
  const run = await chains.run({ ...chain, params }, { note: texts.join(' ') });
  assert.equal(run.status, 'failed');
  await store.shared.settled();
  const server = await serve(store);
  assertClean(await readViews(server, home, []));
  await server.close();
});
