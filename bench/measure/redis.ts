/** Deals over a line to Redis, next to one raw GET by the same client in the same process. */

import type { RedisClient } from '../../src/stores/redis/index.ts';
import { startRedis } from '../../test/redis-server.ts';
import type { Figures } from '../bench-runner.ts';
import { changingCell, decisionOn } from './breaker-decision.ts';
import { loadCore, loadStores } from './library.ts';
import { timeSides } from './slices.ts';

const decisions = 10_000;

/** Nanoseconds of a GET, of a deal and of a closed breaker's decision, and commands that the last one sends. */
export async function redisSpeed(): Promise<Figures> {
  const server = await startRedis();
  const { createClient } = await import('redis');
  const { defaultBreaker, initialBreaker } = await loadCore();
  const { redisStore } = await loadStores();
  const options = { url: server.url, RESP: 3, disableOfflineQueue: true, commandOptions: { timeout: 0 } } as const;
  let commands = 0;
  const counting = (): RedisClient => {
    const client = createClient({ ...options, socket: { reconnectStrategy: false } });
    const send = client.sendCommand.bind(client);
    client.sendCommand = ((args: string[]) => {
      commands++;
      return send(args);
    }) as typeof client.sendCommand;
    return client as unknown as RedisClient;
  };
  const store = await redisStore({ client: counting, deadlineMs: 1_000, graceMs: 0 });
  const raw = createClient(options);
  raw.on('error', () => {});
  await raw.connect();
  try {
    await raw.set('raw', JSON.stringify(initialBreaker(defaultBreaker)));
    const get = ['GET', 'raw'];
    const { cell, update } = await changingCell(store);
    const decide = await decisionOn(store);
    let transactions = 0;
    const commitChange = () => {
      transactions++;
      return store.shared.commit({ changes: [{ cell, update }] });
    };
    const [getNs = 0, transactionNs = 0, decideNs = 0] = await timeSides([
      { call: () => raw.sendCommand(get), shape: 'await' },
      { call: commitChange, shape: 'await' },
      { call: () => decide() || undefined, shape: 'sync' },
    ]);
    if (cell.state.run !== transactions) throw new Error(`${cell.state.run} of ${transactions} deals were carried out`);
    // Without a pause, so that nothing else of this process gets its turn to send.
    const before = commands;
    for (let at = 0; at < decisions; at++) if (!decide()) throw new Error('a closed breaker refused');
    return { getNs, transactionNs, decideNs, ratio: transactionNs / getNs, commands: (commands - before) / decisions };
  } finally {
    raw.destroy();
    store.close();
    await server.stop();
  }
}
