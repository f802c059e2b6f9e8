/** A process with a task that works until the process is killed. */

import { createSwitchgear } from '../../src/index.ts';
import { openStore, type Where } from '../experiments/breaker-transactions.ts';

async function work(where: Where): Promise<void> {
  const gear = createSwitchgear({ agent: 'Researcher', store: await openStore(where), log: 'silent', env: {} });
  const search = gear.guard('search', (at: number) => at);
  gear.startTask({ id: 'research' }).run(() => [1, 2, 3].forEach((at) => void search(at)));
  gear.startTask({ id: 'worker', parent: 'research', agent: 'Worker' });
  gear.startTask({ id: 'short' }).end();
}

process.on('message', async (where: Where) => {
  await work(where);
  process.send?.('working');
});
process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.('ready');
