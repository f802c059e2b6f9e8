/** The process that trips in the benchmark of the page, and the bare stream of events that it is compared with. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { createSwitchgear } from '../src/index.ts';
import { sqliteStore } from '../src/stores/sqlite/index.ts';

const [kind = '', path = ''] = process.argv.slice(2);
const now = () => process.hrtime.bigint().toString();
const lines = createInterface({ input: process.stdin });

if (kind === 'trip') {
  const store = sqliteStore({ path });
  const gear = createSwitchgear({ store, policy: { task: { max_tool_calls: 1 } }, log: 'silent', env: {} });
  const read = gear.guard('read', (page: number) => page);
  process.stdout.write('ready\n');
  for await (const _ of lines) {
    const atNs = now();
    await gear.task(() => [read(1), read(2)]);
    process.stdout.write(`${atNs}\n`);
  }
  gear.dispose();
  store.close();
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
