/** Makes guarded calls on a shared budget for some seconds: `node spending-child.ts STORE LEDGER LIMIT MS`. */

import { appendFileSync } from 'node:fs';
import { createSwitchgear } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';

const [path = '', ledger = '', limit = '', forMs = ''] = process.argv.slice(2);
const store = sqliteStore({ path });
const gear = createSwitchgear({
  store,
  project: 'attack',
  log: 'silent',
  policy: {
    budgets: [{ scope: 'project', unit: 'calls', limit: Number(limit) }],
    task: { max_tool_calls: 1_000_000 },
    loop: { enabled: false },
  },
});
const spend = gear.guard('spend', async (n: number) => {
  appendFileSync(ledger, '.');
  return n;
});
const untilMs = performance.now() + Number(forMs);
for (let n = 0; performance.now() < untilMs; n++) {
  await gear.task({ parent: null }, () => spend(n)).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 5));
}
gear.dispose();
store.close();
