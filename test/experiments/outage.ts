/** Redis hangs, dies, answers late, garbled or not at all: decisions go on, nothing is overspent, and it heals. */

import type { Card } from '../../src/core/card.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { type RedisServer, startRedis } from '../redis-server.ts';
import { type FaultyLine, faultyLine } from './faulty-connection.ts';
import {
  type Form,
  idleTwin,
  pause,
  type Report,
  report,
  seeded,
  startChild,
  type Verdict,
  verdictOf,
} from './verdict.ts';

interface Ended {
  readonly granted: number;
  readonly counted: number;
  readonly money: number;
  readonly count: number;
  readonly events: readonly string[];
  readonly unhandled: readonly string[];
}

const faults = ['stopped', 'killed', 'black hole', 'latency', 'garbage', 'resets'] as const;

export async function outage(form: Form): Promise<Verdict> {
  const told = report(form);
  const random = seeded(form.seed);
  const suffered = form.short ? (['stopped', 'garbage'] as const) : faults;
  const runtime = [
    ...suffered.map((fault) => (server: RedisServer) => suffer(fault, server, random, form, told)),
    (server: RedisServer) => amnesia('flushed', server, form, told),
    (server: RedisServer) => amnesia('fallen back', server, form, told),
  ];
  // Most of it is waiting; only where times count, nothing else may run meanwhile.
  if (form.short) await Promise.all(runtime.map(onServer));
  else for (const work of runtime) await onServer(work);
  return verdictOf('outage', form, told);
}

async function onServer(work: (server: RedisServer) => Promise<void>): Promise<void> {
  const server = await startRedis();
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

async function suffer(
  fault: (typeof faults)[number],
  server: RedisServer,
  random: (below: number) => number,
  { short }: Form,
  told: Report,
): Promise<void> {
  await flush(server);
  const line = await faultyLine(server.port, random);
  const child = await startChild('outage-child.ts', { url: `redis://127.0.0.1:${line.port}` });
  const stall = await idleTwin();
  await child.ask({ decisions: short ? 2_000 : 10_000 });
  const before = line.accepted;
  const began = performance.now();
  await harm(fault, server, line);
  const bad = await child.ask<{ longest: number; state: string }>({ decisions: short ? 20_000 : 100_000 });
  await pause(short ? 300 : 1_500);
  const lasted = performance.now() - began;
  const attempts = line.accepted - before;
  await heal(fault, server, line);
  const healMs = await child.ask<number>({ heal: true });
  const after = await child.ask<{ longest: number }>({ decisions: short ? 2_000 : 10_000 });
  const ended = await child.ask<Ended>({ end: true });
  await child.kill();
  line.close();
  const stalled = await stall();
  const say = (text: string) => `${fault}: ${text}`;
  const longest = Math.max(bad.longest, after.longest);
  told.late(
    longest > 25 && longest > 2 * stalled,
    say(`the longest decision took ${longest} ms, an idle twin ${stalled}`),
  );
  told.late(healMs > 2_000 && healMs > 2 * stalled, say(`it was shared again only after ${healMs} ms`));
  told.fault(ended.unhandled.length > 0, say(`unhandled: ${ended.unhandled[0]}`));
  told.fault(ended.money !== ended.granted, say(`${ended.granted} were granted, and the store says ${ended.money}`));
  told.fault(ended.count !== ended.counted, say(`${ended.counted} were counted, and the store says ${ended.count}`));
  told.fault(!ended.events.includes('degraded'), say('nobody was told that the store is away'));
  // A machine that stands still for as long as a deadline is away once more, and nobody's fault.
  const once = fault !== 'resets' && stalled < 10;
  told.late(once && ended.events.length !== 2, say(`told ${ended.events.join(', ')}`));
  told.fault(ended.events.at(-1) !== 'recovered', say(`told ${ended.events.join(', ')}`));
  // Two lines per attempt, an attempt at most every 187 ms; a line that breaks at once may be taken up again and again.
  const most = 2 * (lasted / 187 + 2);
  told.fault(fault !== 'resets' && attempts > most, say(`${attempts} lines were taken up while it was away`));
  told.figures[say('longest decision ms')] = Math.round(longest * 10) / 10;
  told.figures[say('idle twin ms')] = Math.round(stalled * 10) / 10;
  told.figures[say('shared again after ms')] = Math.round(healMs);
  told.figures[say('lines while away')] = attempts;
}

async function harm(fault: (typeof faults)[number], server: RedisServer, line: FaultyLine): Promise<void> {
  if (fault === 'stopped') server.signal('SIGSTOP');
  else if (fault === 'killed') {
    // What it held must come back: a snapshot stands for its disk.
    await snapshot(server);
    server.signal('SIGKILL');
  } else line.fault = fault;
}

async function heal(fault: (typeof faults)[number], server: RedisServer, line: FaultyLine): Promise<void> {
  if (fault === 'stopped') server.signal('SIGCONT');
  else if (fault === 'killed') await server.restart();
  else line.fault = 'none';
}

async function command(server: RedisServer, ...args: string[]): Promise<unknown> {
  const { createClient } = await import('redis');
  const client = await createClient({ url: server.url }).connect();
  const reply = await client.sendCommand(args);
  client.destroy();
  return reply;
}

const flush = (server: RedisServer) => command(server, 'FLUSHALL');
const snapshot = (server: RedisServer) => command(server, 'SAVE');

/**
 * The store forgets. Where the machine stood still for a large part of the two seconds of grace, nobody remembers in
 * time, which says nothing of the store: it is tried again.
 */
async function amnesia(how: 'flushed' | 'fallen back', server: RedisServer, form: Form, told: Report): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const tried = report(form);
    const stall = await idleTwin();
    await forget(how, server, form, tried);
    const stalledMs = await stall();
    if (tried.faults.length > 0 && stalledMs > 200 && attempt < 6) continue;
    for (const fault of tried.faults) told.fault(true, `${fault} (an idle twin stood still for ${stalledMs} ms)`);
    Object.assign(told.figures, tried.figures);
    return;
  }
}

/** The store forgets everything, or what it heard last: open stays open, used stays used, spent stays spent. */
async function forget(
  how: 'flushed' | 'fallen back',
  server: RedisServer,
  { short }: Form,
  told: Report,
): Promise<void> {
  const say = (text: string) => `${how}: ${text}`;
  await flush(server);
  const options = { url: server.url, graceMs: 2_000, deadlineMs: 1_000 };
  const [one, two] = [await redisStore(options), await redisStore(options)];
  const open = one.cell('breaker/a', () => ({ open: false, generation: 1 }));
  const card: Card = {
    id: 'c',
    kind: 'ask',
    task: 't',
    code: 'notice',
    counters: {},
    evidence: [],
    actions: [],
    state: 'answered',
  };
  one.putCard(card);
  await one.shared.settled();
  if (how === 'fallen back') await snapshot(server);
  await one.shared.commit({ changes: [{ cell: open, update: () => ({ state: { open: true, generation: 2 } }) }] });
  const spent = await one.shared.commit({ adds: [{ key: 'money', amount: 70, ceiling: 100 }] });
  told.fault(spent.status !== 'committed', say(`money was ${JSON.stringify(spent)}`));
  const use = async (store: typeof one) => {
    const cell = store.cell<Card | null>('card/c', () => null);
    const update = (now: Card | null) =>
      now?.state === 'answered' ? { state: { ...now, state: 'used' } as Card } : 'refuse';
    return (await store.shared.commit({ changes: [{ cell, update }] })).status;
  };
  told.fault((await use(one)) !== 'committed', say('the approval could not be used'));
  if (how === 'flushed') await flush(server);
  else {
    server.signal('SIGKILL');
    await pause(100);
    await server.restart();
  }
  const began = performance.now();
  // One that knows nothing comes while the others remember.
  const fresh = await redisStore(options);
  const spend = fresh.shared
    .commit({ adds: [{ key: 'money', amount: 31, ceiling: 100 }] })
    .then(({ status }) => status);
  const uses = Promise.all([use(fresh), use(two), use(one), spend]);
  let known = false;
  while (!known && performance.now() - began < 10_000) {
    const [stored] = await fresh.shared.read('breaker/a', 1);
    known = (stored?.state as { open: boolean } | undefined)?.open === true;
    if (!known) await pause(10);
  }
  const tookMs = performance.now() - began;
  told.fault(!known, say('the open breaker was forgotten'));
  told.late(tookMs > 2_000, say(`the open breaker was open again after ${tookMs} ms`));
  const used = await uses;
  told.fault(used.includes('committed'), say(`used or overspent after it forgot: ${used.join(', ')}`));
  for (let attempt = 0; attempt < (short ? 5 : 100); attempt++) {
    told.fault((await use(attempt % 2 ? two : fresh)) === 'committed', say('the approval was used twice'));
  }
  told.figures[say('open again after ms')] = Math.round(tookMs);
  for (const store of [one, two, fresh]) store.close();
}
