/** A process that makes one model call, which is cut while its work goes on. */

import { createSwitchgear, type Switchgear } from '../../../src/index.ts';
import { openStore, type Where } from '../../experiments/breaker-transactions.ts';
import { pause } from '../../experiments/verdict.ts';

export const policy = { budgets: [{ scope: 'agent', unit: 'spend_cents', limit: 100 }] } as const;

/** How the work ends after the cut. */
export type End = 'never' | 'fails' | 'no usage' | 'unreadable' | 'usage' | 'dear usage';

export type CutBy = 'its timeout' | 'the halt of its task' | 'its timeout, outside a task';

export interface CutCall {
  readonly where: Where;
  readonly agent: string;
  readonly by: CutBy;
  readonly end: End;
}

/** Makes a call that reserves 80 cents, has it cut, and ends its work. */
export async function cutCall(gear: Switchgear, by: CutBy, end: End): Promise<void> {
  const work = Promise.withResolvers<End>();
  const began = Promise.withResolvers<void>();
  const run = () => {
    began.resolve();
    return work.promise;
  };
  const think = gear.guard('model', run, {
    async: true,
    kind: 'model',
    breaker: { mode: 'off' },
    maxCost: { usd: 0.8 },
    timeoutSecs: by === 'the halt of its task' ? 0 : 0.05,
    usage(value) {
      if (value === 'unreadable') throw new Error('unreadable');
      if (value === 'no usage') return undefined;
      return { inputTokens: 1, outputTokens: 1, costUsd: value === 'usage' ? 0.1 : 0.9 };
    },
  });
  const task = by === 'its timeout, outside a task' ? undefined : gear.startTask();
  const cut = (task === undefined ? think() : task.run(() => think())).catch((error: Error) => error.name);
  await Promise.race([began.promise, cut]);
  if (by === 'the halt of its task') gear.halt(task!.id, 'enough');
  await cut;
  task?.end();
  if (end === 'fails') work.reject(new Error('aborted'));
  else if (end !== 'never') work.resolve(end);
  await pause(20); // The store is told.
}

if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on('message', async ({ where, agent, by, end }: CutCall) => {
    const store = await openStore(where);
    await cutCall(createSwitchgear({ store, agent, policy, project: 'p', log: 'silent', env: {} }), by, end);
    await store.shared.settled();
    process.send?.('cut');
  });
  process.on('disconnect', () => process.exit()); // The parent has ended.
  process.send('ready');
}
