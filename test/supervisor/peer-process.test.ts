import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { findPeer, isLoopback } from '../../src/supervisor/peer-process.ts';

const skip = process.platform !== 'linux' && 'the process of a connection is known on Linux only';

/** Addresses of this machine in a network: a process here can connect to them as well. */
const outer = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .filter(({ internal, address }) => !internal && !address.startsWith('fe80'))
  .map(({ address }) => [address.includes(':') ? '::' : '0.0.0.0', address] as const);

for (const [host, target] of [
  ...outer,
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
  ['::', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.7'],
] as const) {
  test(`the process that connects to ${target} of a server on ${host} is found, and is gone with its end`, {
    skip,
  }, async (context) => {
    const server = createServer({ allowHalfOpen: true });
    const listening = once(server, 'listening').then(() => true);
    server.listen(0, host);
    if (!(await Promise.race([listening, once(server, 'error').then(() => false)])))
      return context.skip('the system has no IPv6');
    const connected = once(server, 'connection');
    const { port } = server.address() as AddressInfo;
    const program = `require('node:net').connect(${port}, '${target}')`;
    const child = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
    const [socket] = (await connected) as [Socket];
    socket.on('error', () => undefined);
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    const ends = { localAddress, localPort, remoteAddress, remotePort };
    assert.deepEqual(await findPeer(ends), { kind: 'found', pids: [child.pid] });
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.deepEqual(await findPeer(ends), { kind: 'gone' });
    socket.destroy();
    server.close();
  });
}

test('a process that could not be looked for among all others is hidden, not unknown', { skip }, async (context) => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connected = once(server, 'connection');
  const client = connect(port, '127.0.0.1');
  const [socket] = (await connected) as [Socket];
  context.after(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  assert.deepEqual(await findPeer(socket), { kind: 'found', pids: [process.pid] });
  const few = await findPeer(socket, { processes: 1, files: 500_000 });
  assert.deepEqual(few, { kind: 'hidden', reason: 'the machine has more than 1 processes' });
  const closed = await findPeer(socket, { processes: 65_536, files: 3 });
  assert.ok(closed.kind === 'hidden');
  assert.match(closed.reason, /^user \d+ has more than 3 files open, of which process \d+ has \d+$/);
});

test('a connection from another machine has no process here', async () => {
  assert.deepEqual(await findPeer({ remoteAddress: '198.51.100.1', remotePort: 5 }), {
    kind: 'unknown',
    reason: 'the request came from 198.51.100.1',
  });
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) assert.ok(isLoopback(address), address);
  for (const address of ['128.0.0.1', '::2', '::', '0.0.0.0', '1.127.0.1', ''])
    assert.ok(!isLoopback(address), address);
});
