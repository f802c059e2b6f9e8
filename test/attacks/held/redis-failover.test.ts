/** A primary that dies under Sentinel, and a cluster whose nodes go away: budgets hold, and state comes back. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createClient } from 'redis';
import { createSwitchgear, isRefused, type Switchgear } from '../../../src/index.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { testWithRedis } from '../../redis-server.ts';
import { countAttempts, isWhole, notTried, waitFor } from './attempts.ts';

const limit = 60;

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer();
      return new Promise<typeof server>((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
    }),
  );
  const ports = servers.map((server) => (server.address() as { readonly port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function cli(port: number, ...words: readonly string[]): string {
  return spawnSync('redis-cli', ['-h', '127.0.0.1', '-p', `${port}`, ...words], { encoding: 'utf8' }).stdout.trim();
}

/** Starts servers in a folder, and ends them with the test, each by its pid. */
function farm(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  const children: ChildProcess[] = [];
  context.after(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    async start(port: number, ...args: readonly string[]): Promise<ChildProcess> {
      const child = spawn('redis-server', [...args], { cwd: folder, stdio: 'ignore' });
      children.push(child);
      await waitFor(`the server on ${port}`, () => cli(port, 'PING') === 'PONG');
      return child;
    },
  };
}

const plain = (port: number) =>
  [
    '--port',
    `${port}`,
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dbfilename',
    `${port}.rdb`,
  ] as const;

/** Two gears that spend one budget; `client` leads each to the server of the moment. */
async function spenders(context: TestContext, client: () => Promise<ReturnType<typeof clientOf>>) {
  const gears: Switchgear[] = [];
  for (let at = 0; at < 2; at++) {
    const store = await redisStore({ prefix: 'failover', client });
    const policy = { budgets: [{ scope: 'project', unit: 'calls', limit }] } as const;
    gears.push(createSwitchgear({ store, policy, env: {}, log: 'silent', project: 'p', agent: `A${at}` }));
  }
  context.after(() => {
    for (const gear of gears) gear.dispose();
  });
  let ran = 0;
  const tools = gears.map((gear) => gear.guard('spend', async (_: number) => ++ran));
  const spendFor = async (calls: number): Promise<boolean> => {
    let wasRefused = true;
    for (let at = 0; at < calls; at++) {
      for (const tool of tools) wasRefused = isRefused(await tool(at)) && wasRefused;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return wasRefused;
  };
  const dead = gears.map((gear) =>
    gear.guard('dead', async (): Promise<string> => {
      throw new Error('down');
    }),
  );
  return { spendFor, ran: () => ran, dead };
}

const clientOf = (port: number) =>
  createClient({
    RESP: 3,
    disableOfflineQueue: true,
    commandOptions: { timeout: 0 },
    socket: { host: '127.0.0.1', port, reconnectStrategy: false },
  });

if (isWhole) {
  testWithRedis('held: a failover by Sentinel overspends no budget and closes no breaker', async (context) => {
    const { folder, start } = farm(context);
    if (cli(1, '--version') === '') return notTried(context, 'a failover: redis-cli is not installed');
    const [primary = 0, replica = 0, sentinel = 0] = await freePorts(3);
    const first = await start(primary, ...plain(primary));
    await start(replica, ...plain(replica), '--replicaof', '127.0.0.1', `${primary}`);
    const config = join(folder, 'sentinel.conf');
    const lines = ['monitor m 127.0.0.1', 'down-after-milliseconds m 500', 'failover-timeout m 3000'];
    const [monitor = '', ...rest] = lines.map((line) => `sentinel ${line}`);
    writeFileSync(config, [`port ${sentinel}`, 'bind 127.0.0.1', `${monitor} ${primary} 1`, ...rest, ''].join('\n'));
    await start(sentinel, config, '--sentinel');
    await waitFor('the replica is known', () => cli(sentinel, 'SENTINEL', 'replicas', 'm').includes(`${replica}`));
    const leader = () => Number(cli(sentinel, 'SENTINEL', 'get-master-addr-by-name', 'm').split('\n')[1]);
    const { spendFor, ran, dead } = await spenders(context, async () => clientOf(leader()));
    await spendFor(8);
    for (let at = 0; at < 5; at++) await dead[0]?.().catch(() => {});
    const before = ran();
    first.kill('SIGKILL');
    await spendFor(20);
    await waitFor('the replica leads', () => leader() === replica);
    await waitFor('the budget is spent', () => spendFor(10));
    assert.ok(before > 0 && ran() <= limit, `${ran()} of ${limit} were spent`);
    assert.ok(isRefused(await dead[0]?.()), 'the breaker closed');
    await waitFor('the other process knows', async () => isRefused(await dead[1]?.().catch(() => undefined)));
    countAttempts(context, 1);
  });

  testWithRedis('held: a cluster of three nodes whose node goes away overspends no budget', async (context) => {
    const { start } = farm(context);
    if (cli(1, '--version') === '') return notTried(context, 'a cluster: redis-cli is not installed');
    // The bus of a node listens on its port + 10000.
    const ports = (await freePorts(3)).map((port) => (port > 50_000 ? port - 20_000 : port));
    const nodes = new Map<number, ChildProcess>();
    const options = [
      '--cluster-enabled',
      'yes',
      '--cluster-node-timeout',
      '1000',
      '--cluster-require-full-coverage',
      'no',
    ];
    const startNode = (port: number) =>
      start(port, ...plain(port), ...options, '--cluster-config-file', `nodes-${port}.conf`);
    for (const port of ports) nodes.set(port, await startNode(port));
    const addresses = ports.map((port) => `127.0.0.1:${port}`);
    cli(ports[0]!, '--cluster', 'create', ...addresses, '--cluster-yes');
    await waitFor('the cluster is whole', () =>
      ports.every((port) => cli(port, 'CLUSTER', 'INFO').includes('cluster_state:ok')),
    );
    const slot = Number(cli(ports[0]!, 'CLUSTER', 'KEYSLOT', '{failover}'));
    const owner = ports.find((port) => {
      const [, from = '', to = ''] = /myself.* (\d+)-(\d+)$/m.exec(cli(port, 'CLUSTER', 'NODES')) ?? [];
      return Number(from) <= slot && slot <= Number(to);
    });
    assert.ok(owner !== undefined, 'no node has the prefix');
    const { spendFor, ran } = await spenders(context, async () => clientOf(owner));
    await spendFor(8);
    const before = ran();
    nodes.get(ports.find((port) => port !== owner)!)?.kill('SIGKILL');
    await spendFor(8);
    nodes.get(owner)?.kill('SIGKILL');
    await spendFor(20);
    nodes.set(owner, await startNode(owner)); // It comes back empty.
    await waitFor('the budget is spent', () => spendFor(10));
    assert.ok(before > 0 && ran() <= limit, `${ran()} of ${limit} were spent`);
    countAttempts(context, 2);
  });
} else {
  testWithRedis('held: a primary that is replaced by an empty server overspends no budget', async (context) => {
    const { start } = farm(context);
    const [port = 0] = await freePorts(1);
    const first = await start(port, ...plain(port));
    const { spendFor, ran } = await spenders(context, async () => clientOf(port));
    await spendFor(8);
    const gone = new Promise((resolve) => first.once('exit', resolve));
    first.kill('SIGKILL');
    await gone;
    await start(port, ...plain(port));
    await spendFor(40);
    assert.ok(ran() > 0 && ran() <= limit, `${ran()} of ${limit} were spent`);
    countAttempts(context, 1);
  });
}
