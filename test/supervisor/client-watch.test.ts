/** The clients of a listener, by their connections. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CrossProcessStore } from '../../src/ports/store.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { ClientWatch } from '../../src/supervisor/client-watch.ts';
import { listRecordedClients } from '../../src/supervisor/recorded-agents.ts';

const skip = process.platform !== 'linux' && 'the process of a connection is known on Linux only';

/** A store that takes a time for each commit. */
function slowDown(store: CrossProcessStore, ms: number): CrossProcessStore {
  const commit: CrossProcessStore['shared']['commit'] = async (transaction) => {
    await sleep(ms);
    return store.shared.commit(transaction);
  };
  const shared = Object.create(store.shared, { commit: { value: commit } });
  return Object.create(store, { shared: { value: shared } });
}

test('connections that come at once wait for a limited time, and not for all before them', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-watch-'));
  const store = sqliteStore({ path: join(folder, 'state.db') });
  const server = createServer().listen(0, '127.0.0.1');
  after(() => {
    server.close();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connections: Socket[] = [];
  for (let count = 0; count < 4; count++) {
    const child = spawn(process.execPath, ['-e', `require('node:net').connect(${port}, '127.0.0.1')`]);
    after(() => child.kill('SIGKILL'));
    const [socket] = (await once(server, 'connection')) as [Socket];
    connections.push(socket.on('error', () => undefined));
  }
  const watch = new ClientWatch(slowDown(store, 800), { by: 'gateway', name: 'gateway' });
  const beganMs = performance.now();
  await Promise.all(connections.map((each) => watch.note(each)));
  assert.ok(performance.now() - beganMs < 2_000, `${performance.now() - beganMs} ms`);
  assert.equal((await listRecordedClients(store)).records.length, 1);
});

test('many connections of one client that come at once are all known, and it is recorded once', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-watch-'));
  const store = sqliteStore({ path: join(folder, 'state.db') });
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connect = `require('node:net').connect(${port}, '127.0.0.1')`;
  const child = spawn(process.execPath, ['-e', `for (let at = 0; at < 40; at++) ${connect}`]);
  after(() => {
    child.kill('SIGKILL');
    server.close();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const connections: Socket[] = [];
  server.on('connection', (socket) => connections.push(socket.on('error', () => undefined)));
  while (connections.length < 40) await sleep(5);
  const watch = new ClientWatch(store, { by: 'gateway', name: 'gateway' });
  await Promise.all(connections.map((each) => watch.note(each)));
  assert.deepEqual(
    connections.map((each) => watch.note(each)),
    connections.map(() => undefined),
  );
  assert.equal((await listRecordedClients(store)).records.length, 1);
});

test('a process that goes on with the connection of a client that has ended is a client', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-watch-'));
  const store = sqliteStore({ path: join(folder, 'state.db') });
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stdio = "{ detached: true, stdio: ['ignore', 'ignore', 'ignore', socket] }";
  const handOn = `require('node:child_process').spawn('sleep', ['60'], ${stdio}).pid`;
  const code = `const socket = require('node:net').connect(${port}, '127.0.0.1');
    process.stdin.once('data', () => { console.log(${handOn}); process.exit(); });`;
  const first = spawn(process.execPath, ['-e', code]);
  const [connection] = (await once(server, 'connection')) as [Socket];
  const watch = new ClientWatch(store, { by: 'gateway', name: 'gateway' });
  await watch.note(connection);
  assert.equal(watch.note(connection), undefined);
  first.stdin.write('.');
  const [line] = await once(first.stdout, 'data');
  const second = Number(line);
  after(() => {
    process.kill(second, 'SIGKILL');
    server.close();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await sleep(1_100);
  await watch.note(connection);
  const { records } = await listRecordedClients(store);
  assert.ok(records.some(({ process: { pid } }) => pid === second));
  assert.equal(watch.note(connection), undefined);
});
