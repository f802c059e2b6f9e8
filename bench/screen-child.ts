/**
 * The processes of the benchmark of the page: the server, the process that trips, more clients of which half never
 * read, and the bare stream of events that the server is compared with.
 */

import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { defaultBreaker } from '../src/core/controls/breaker/defaults.ts';
import { createSwitchgear } from '../src/index.ts';
import { startServer } from '../src/server/start-server.ts';
import { sqliteStore } from '../src/stores/sqlite/index.ts';

const [kind = '', path = '', token = '', count = ''] = process.argv.slice(2);
const now = () => process.hrtime.bigint().toString();
const lines = createInterface({ input: process.stdin });

if (kind === 'trip') {
  const store = sqliteStore({ path });
  const gear = createSwitchgear({ store, policy: { task: { max_tool_calls: 1 } }, log: 'silent', env: {} });
  const read = gear.guard('read', (page: number) => page);
  process.stdout.write('ready\n');
  let trips = 0;
  for await (const _ of lines) {
    const agent = `agent-${++trips}-${process.pid}`; // Equal cards of one agent are one.
    const atNs = now();
    await gear.task({ agent }, () => [read(1), read(2)]);
    process.stdout.write(`${atNs}\n`);
  }
  gear.dispose();
  store.close();
} else if (kind === 'serve') {
  const store = sqliteStore({ path });
  const server = await startServer(store, {
    ...{ host: '127.0.0.1', port: 0, allowedHosts: [], startRole: 'operator', user: 'bench', storeName: 'bench' },
    findTripSettings: async () => defaultBreaker,
  });
  process.stdout.write(`${server.port} ${server.token}\n`);
  for await (const _ of lines) {
    const { user, system } = process.cpuUsage();
    process.stdout.write(`${process.memoryUsage().rss / 1e6} ${(user + system) / 1e3}\n`);
  }
  await server.close();
  store.close();
} else if (kind === 'crowd') {
  const headers = { authorization: `Bearer ${token}`, 'x-switchgear': '1' };
  for (let at = 0; at < Number(count); at++) {
    const request = get({ host: '127.0.0.1', port: Number(path), path: '/api/events', headers, agent: false });
    request.on('error', () => undefined);
    await new Promise<void>((resolve) => {
      request.on('response', (response) => {
        if (at % 2 === 0) response.resume();
        else response.socket.pause();
        resolve();
      });
    });
  }
  process.stdout.write('ready\n');
  for await (const _ of lines);
  process.exit(0);
} else {
  const clients = new Set<import('node:http').ServerResponse>();
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': hello\n\n');
    clients.add(response);
  });
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
  for await (const _ of lines) {
    const atNs = now();
    for (const client of clients) client.write('event: entry\ndata: {"kind":"halt","state":"open"}\n\n');
    process.stdout.write(`${atNs}\n`);
  }
  server.closeAllConnections();
  server.close();
}
