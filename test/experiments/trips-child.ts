/** Keeps calling something that always fails, until its breaker says no; knows nothing of the others but the store. */

import { callThrough } from '../../bench/measure/breaker-decision.ts';
import { breaker } from '../../src/core/controls/breaker/control.ts';
import { defaultBreaker } from '../../src/core/controls/breaker/defaults.ts';
import { resetBreaker } from '../../src/core/controls/breaker/phases.ts';
import { initialBreaker } from '../../src/core/controls/breaker/state.ts';
import { allow } from '../../src/core/verdict.ts';
import { openStore, type Where } from './breaker-transactions.ts';

const { where } = JSON.parse(process.argv[2]!) as { readonly where: Where };
const store = await openStore(where);
const { shared, clock } = store;
const cell = store.cell('breaker/x', () => initialBreaker(defaultBreaker), shared.breakers.cell);
let tripped = 0;
const sharedControl = shared.breakers.bind(breaker(defaultBreaker), cell, defaultBreaker, 'x', ({ type }) => {
  if (type === 'breaker-opened') tripped++;
});
const outcome = { kind: 'failure', error: 'ToolError', errorFingerprint: 1 } as const;
const call = () => callThrough(store, sharedControl, cell, allow, outcome);

interface Ask {
  readonly fire?: number;
  readonly reset?: true;
}

process.on('message', async ({ fire, reset }: Ask) => {
  if (reset) {
    sharedControl.change((state) => resetBreaker(state), clock.nowMs());
    await shared.settled();
    process.send?.(cell.state.generation);
    return;
  }
  // The round begins once its generation is known here, too.
  for (shared.refresh(); cell.state.generation < fire!; shared.refresh()) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const before = tripped;
  let calls = 0;
  while (call()) {
    calls++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const seenMs = clock.nowMs();
  await shared.settled();
  process.send?.({ calls, tripped: tripped - before, seenMs, generation: cell.state.generation });
});
process.on('disconnect', () => process.exit()); // Nobody is left to ask.
process.send?.('ready');
