/** kill -9 of competing writers: nothing that was acknowledged is lost, and state and journal say the same. */

import { join } from 'node:path';
import { cardsMax } from '../../src/core/limits.ts';
import { openStore } from './breaker-transactions.ts';
import {
  type Child,
  type Form,
  inFolder,
  pause,
  report,
  seeded,
  startChild,
  type Verdict,
  verdictOf,
} from './verdict.ts';

const writers = 4;

export async function durability(form: Form): Promise<Verdict> {
  const told = report(form);
  const kills = form.short ? 12 : 1_000;
  const random = seeded(form.seed);
  await inFolder(async (folder) => {
    const path = join(folder, 'store.db');
    const said: string[] = [];
    const open: Child[] = [];
    let lives = 0;
    const start = async (slot: number): Promise<void> => {
      const role = { path, slot, life: ++lives, door: slot % 2 === 0 ? 'now' : 'soon' };
      const child = await startChild('durability-child.ts', role);
      let rest = '';
      child.process.stdout!.on('data', (chunk: Buffer) => {
        const lines = (rest + chunk.toString()).split('\n');
        rest = lines.pop()!;
        for (const line of lines) said.push(line);
      });
      open[slot] = child;
    };
    for (let slot = 0; slot < writers; slot++) await start(slot);
    for (let kill = 0; kill < kills; kill++) {
      await pause(5 + random(40));
      const slot = random(writers);
      await open[slot]!.kill();
      await start(slot);
    }
    await Promise.all(open.map((child) => child.kill()));
    await pause(50);
    await check(path, said, told);
    told.figures.kills = kills;
    told.figures.acknowledged = said.length;
  });
  return verdictOf('durability', form, told);
}

async function check(path: string, said: readonly string[], told: ReturnType<typeof report>): Promise<void> {
  const began = performance.now();
  const store = await openStore({ path });
  told.figures['restart ms'] = Math.round(performance.now() - began);
  const names: string[] = [];
  let expected = 1;
  for (;;) {
    const entries = await store.shared.entries(expected, 5_000);
    for (const entry of entries) {
      told.fault(entry.seq !== expected, `entry ${expected} is missing`);
      expected = entry.seq + 1;
      if (entry.type === 'task-missing') names.push(entry.name);
    }
    if (entries.length === 0) break;
  }
  const written = new Set(names);
  told.fault(written.size !== names.length, 'an entry was written twice');
  const lost = said.filter((name) => !written.has(name));
  told.fault(lost.length > 0, `${lost.length} acknowledged and lost, e.g. ${lost[0]}`);
  for (let slot = 0; slot < writers; slot++) {
    const [cell] = await store.shared.read(`trips/${slot}`, 1);
    const trips = names.filter((name) => name.startsWith(`trip ${slot} `)).length;
    const { generation } = (cell?.state ?? { generation: 0 }) as { generation: number };
    told.fault(generation !== trips, `slot ${slot}: the state counts ${generation} trips, the journal ${trips}`);
  }
  const spent = names.reduce((sum, name) => sum + (name.startsWith('spend ') ? Number(name.split(' ')[1]) : 0), 0);
  told.fault(
    store.shared.counter('spend') !== spent,
    `the sum is ${store.shared.counter('spend')}, the journal says ${spent}`,
  );
  const used = names.filter((name) => name.startsWith('used ')).map((name) => name.slice(5));
  const cards = new Set(store.cards().map(({ id }) => id));
  const gone = used.slice(-cardsMax).filter((id) => !cards.has(id));
  told.fault(gone.length > 0, `${gone.length} of the last used cards are gone`);
  told.figures.entries = names.length;
  store.close();
}
