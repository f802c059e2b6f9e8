/** A guarded agent that has got hold of a token of `switchgear serve`. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Card } from '../../src/core/card.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { createTestHome, type TestHome } from '../cli/run/run-cli.ts';
import { collectOutput } from '../harness/child-output.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { serve } from '../server/server-setup.ts';
import { until } from '../supervisor/processes.ts';

const homes: TestHome[] = [];
after(() => {
  for (const { clear } of homes) clear();
});

function home(): TestHome {
  const created = createTestHome();
  homes.push(created);
  return created;
}

const question: Card = {
  ...{ id: 'ask-1', kind: 'ask', task: 't', code: 'rule_declined', counters: {}, evidence: ['pay?'] },
  ...{ actions: ['approve', 'decline'], state: 'open' },
};

const hasProc = process.platform === 'linux';

/** A program that sends requests, as curl does; it prints the status and the code of each answer. */
const client = `
const [port, token, ...paths] = process.argv.slice(2);
const headers = { authorization: 'Bearer ' + token, 'x-switchgear': '1', 'content-type': 'application/json' };
for (const path of paths) {
  const body = path.includes('/answer') ? { answer: 'approve' } : {};
  const answer = await fetch('http://127.0.0.1:' + port + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const { error } = await answer.json();
  console.log(path, answer.status, error?.code ?? 'ok');
}
`;

test('below a run, a decision with a valid token is refused and reported; a halt is not', {
  skip: !hasProc && 'the process of a connection is known on Linux only',
  timeout: 60_000,
}, async () => {
  const place = home();
  const path = place.store.slice('sqlite:'.length);
  const store = sqliteStore({ path });
  store.putCard(question);
  await store.shared.settled();
  const server = await serve(store);
  const paths = ['cards/ask-1/answer', 'breakers/search/reset', 'breakers/search/hold', 'tasks/nobody/halt'];
  const node = `'${process.execPath}' --input-type=module -e "$CLIENT" x`;
  const script = [
    `${node} ${server.port} ${server.token} ${paths.map((each) => `/api/${each}`).join(' ')}`,
    `env -i ${node} ${server.port} ${server.token} /api/breakers/search/hold`,
    `setsid ${node} ${server.port} ${server.token} /api/breakers/search/hold`,
    'echo done; sleep 60',
  ];
  const { child, out } = place.start(['run', '--', 'sh', '-c', script.join('\n')], { CLIENT: client });
  after(() => child.kill('SIGTERM'));
  await until(() => out().includes('done\n'));
  const refused = out().match(/\/api\/(cards|breakers)\S+ 403 operator_required/g) ?? [];
  assert.equal(refused.length, 5, out());
  // A halt is allowed: the answer is that no such task runs.
  assert.match(out(), /\/api\/tasks\/nobody\/halt 404 not_found/);
  assert.equal(store.card('ask-1')?.state, 'open');
  const cards = store.cards().filter(({ id }) => id.startsWith('card-token-used-'));
  assert.equal(cards.length, 1);
  assert.match(cards[0]?.evidence[0] ?? '', /^sh sent a decision with the token of ann, and was refused: node \d+ < /);
  const order = (await store.shared.entries(1, 1_000)).find((entry) => entry.type === 'order-given');
  assert.ok(order?.type === 'order-given' && order.from?.how === 'agent');

  // A person beside the agent decides.
  const own = await server.send('POST', '/api/cards/ask-1/answer', { answer: 'approve' });
  assert.deepEqual([own.status, own.json.card.by, own.json.card.from.how], [200, 'ann', 'token']);
  child.kill('SIGTERM');
  await once(child, 'exit');
  await server.close();
  store.close();
});

/** A host that runs a hook and then a tool, which sends the request. */
const host = `
import { spawnSync } from 'node:child_process';
const [hook, event, node, ...request] = process.argv.slice(1);
spawnSync('sh', ['-c', hook], { input: event });
const { stdout } = spawnSync('setsid', [node, '--input-type=module', '-e', process.env.CLIENT, 'x', ...request]);
process.stdout.write(stdout);
`;

test('below an agent with hooks, a decision with a valid token is refused and reported', {
  skip: !hasProc && 'the process of a connection is known on Linux only',
  timeout: 60_000,
}, async () => {
  const place = home();
  const store = sqliteStore({ path: place.store.slice('sqlite:'.length) });
  store.putCard(question);
  await store.shared.settled();
  const server = await serve(store);
  const hook = `'${process.execPath}' '${bin}' hook claude-code`;
  const event = { hook_event_name: 'PreToolUse', session_id: 's-1', cwd: place.folder, tool_name: 'Read' };
  const request = [process.execPath, `${server.port}`, server.token, '/api/cards/ask-1/answer'];
  const line = [hook, JSON.stringify({ ...event, tool_use_id: 'c1', tool_input: {} }), ...request];
  const child = spawn(process.execPath, ['--input-type=module', '-e', host, ...line], {
    env: { ...process.env, HOME: place.folder, SWITCHGEAR_STORE: place.store, CLIENT: client },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { out } = collectOutput(child);
  await once(child, 'close');
  assert.match(out(), /answer 403 operator_required/);
  assert.equal(store.card('ask-1')?.state, 'open');
  const [card] = store.cards().filter(({ id }) => id.startsWith('card-token-used-'));
  assert.match(card?.evidence[0] ?? '', /sent a decision with the token of ann, and was refused/);
  await server.close();
  store.close();
});

test('below a run, neither the server nor a token for it nor a key of the gateway is to be had', {
  timeout: 60_000,
}, async () => {
  const place = home();
  const command = `'${process.execPath}' '${bin}'`;
  const script = [
    `${command} serve --port 0 2>&1`,
    `${command} serve token add eve --role operator 2>&1`,
    `${command} gateway key add eve 2>&1`,
    `${command} serve token list 2>&1`,
    `${command} gateway key list 2>&1`,
    'echo done; sleep 60',
  ];
  const { child, out } = place.start(['run', '--', 'sh', '-c', script.join('\n')]);
  after(() => child.kill('SIGTERM'));
  await until(() => out().includes('done\n'));
  assert.equal(out().match(/refused: this process belongs to sh/g)?.length, 3, out());
  assert.match(out(), /No tokens\.\nNo keys\./);
  child.kill('SIGTERM');
  await once(child, 'exit');
});

test('a client that closes its connection before it can be found decides nothing', {
  skip: !hasProc && 'the process of a connection is known on Linux only',
}, async () => {
  const place = home();
  const store = sqliteStore({ path: place.store.slice('sqlite:'.length) });
  store.putCard(question);
  await store.shared.settled();
  const server = await serve(store);
  const body = '{"answer":"approve"}';
  const request = [
    'POST /api/cards/ask-1/answer HTTP/1.1',
    `Host: 127.0.0.1:${server.port}`,
    `Authorization: Bearer ${server.token}`,
    ...['x-switchgear: 1', 'Content-Type: application/json', `Content-Length: ${body.length}`, '', body],
  ].join('\r\n');
  const makeProgram = (afterwards: string) => `
    const socket = require('node:net').connect(${server.port}, '127.0.0.1', () => {
      socket.write(${JSON.stringify(request)}, () => ${afterwards});
    });
    socket.on('data', () => process.exit());`;
  // The server does not run while the client lives.
  const sender = spawnSync(process.execPath, ['-e', makeProgram("process.kill(process.pid, 'SIGKILL')")]);
  assert.equal(sender.signal, 'SIGKILL');
  assert.equal((await server.send('GET', '/api/status')).status, 200, 'the earlier request was handled');
  assert.equal(store.card('ask-1')?.state, 'open');
  const patient = spawn(process.execPath, ['-e', makeProgram('undefined')]);
  await once(patient, 'exit');
  assert.equal(store.card('ask-1')?.answer, 'approve');
  await server.close();
  store.close();
});

test('a connection that is in no process, because its socket was given away unread, decides nothing but a halt', {
  skip: !hasProc && 'the process of a connection is known on Linux only',
}, async () => {
  const store = sqliteStore({ path: home().store.slice('sqlite:'.length) });
  store.putCard(question);
  await store.shared.settled();
  const server = await serve(store);
  /** Sends a request, hands the socket to a process that does not read it, and dies, before the server goes on. */
  const sendHidden = (path: string, body: string) => {
    const request = [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${server.port}`,
      `Authorization: Bearer ${server.token}`,
      ...['x-switchgear: 1', 'Content-Type: application/json', `Content-Length: ${body.length}`, '', body],
    ].join('\r\n');
    const program = `
      const stdio = ['ignore', 'ignore', 'ignore', 'ipc'];
      const keeper = require('node:child_process').spawn('sleep', ['60'], { stdio, detached: true });
      const socket = require('node:net').connect(${server.port}, '127.0.0.1', () => {
        socket.write(${JSON.stringify(request)}, () => {
          keeper.send('take it', socket, () => {
            require('node:fs').writeSync(1, String(keeper.pid));
            process.kill(process.pid, 'SIGKILL');
          });
        });
      });`;
    const sender = spawnSync(process.execPath, ['-e', program]);
    after(() => process.kill(Number(sender.stdout)));
    assert.equal(sender.signal, 'SIGKILL');
  };
  sendHidden('/api/cards/ask-1/answer', '{"answer":"approve"}');
  sendHidden('/api/tasks/nobody/halt', '{}');
  const listOrders = async () =>
    (await store.shared.entries(1, 1_000)).filter(({ type }) => type === 'order-given').length;
  for (let looks = 0; looks < 500 && (await listOrders()) === 0; looks++) await sleep(10);
  assert.equal(await listOrders(), 1, 'the later request was handled');
  assert.equal(store.card('ask-1')?.state, 'open');
  await server.close();
  store.close();
});

test('switchgear serve prints an address with a token, takes the next free port, and ends on SIGTERM', {
  timeout: 60_000,
}, async () => {
  const place = home();
  const start = (...args: readonly string[]) => {
    const started = place.start(['serve', ...args]);
    after(() => started.child.kill('SIGKILL'));
    return started;
  };
  const first = start('--port', '0');
  await until(() => first.out().includes('\n'));
  const [, port = '', token = ''] =
    /^http:\/\/127\.0\.0\.1:(\d+)\/#token=(start\.[\w-]{43})\n$/.exec(first.out()) ?? [];
  assert.notEqual(port, '', first.out());
  const second = start('--port', port);
  await until(() => second.out().includes('\n'));
  assert.match(second.err(), new RegExp(`port ${port} is busy; using \\d+\n`));
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`http://127.0.0.1:${port}/api/status`, { headers });
  assert.equal(answer.status, 200);
  assert.equal((await fetch(`http://127.0.0.1:${port}/ready`)).status, 200);
  for (const { child, finished } of [first, second]) {
    child.kill('SIGTERM');
    assert.deepEqual([(await finished).code, (await finished).signal], [0, null]);
  }
  const open = await place.run(['serve', '--host', '0.0.0.0']);
  assert.deepEqual([open.code, /not the loopback address/.test(open.err)], [2, true]);
  const added = await place.run(['serve', 'token', 'add', 'bob', '--role', 'viewer']);
  assert.match(added.out, /^bob\.[\w-]{43}\n$/);
  assert.match((await place.run(['serve', 'token', 'list'])).out, /bob +viewer +added by/);
  assert.equal((await place.run(['serve', 'token', 'revoke', 'bob'])).out, 'revoked bob\n');
  assert.equal((await place.run(['serve', 'token', 'add', 'bob', '--role', 'boss'])).code, 2);
});
