/** One measurement in a process of its own: its name and arguments come in, one line of figures goes out. */

import type { Figures } from './bench-runner.ts';
import { blocked, stall, write } from './measure/blocked.ts';
import { counts } from './measure/counts.ts';
import { leave } from './measure/exit.ts';
import { flat } from './measure/flat.ts';
import { guardSpeed } from './measure/guard.ts';
import { heap, idle, timers } from './measure/memory.ts';
import { redisSpeed } from './measure/redis.ts';
import { speed } from './measure/speed.ts';
import { sqliteSpeed, trip } from './measure/sqlite.ts';
import { storeHeap } from './measure/store-memory.ts';

const measurements: Readonly<Record<string, (args: readonly string[]) => Promise<Figures>>> = {
  speed,
  guard: guardSpeed,
  counts,
  heap,
  idle,
  timers,
  flat,
  sqlite: sqliteSpeed,
  trip,
  blocked,
  write,
  stall,
  redis: redisSpeed,
  'store-heap': storeHeap,
};

const [name = '', ...args] = process.argv.slice(2);
if (name === 'exit') {
  await leave(args); // It has to end by itself: that is what is measured.
} else {
  const measure = measurements[name];
  if (measure === undefined) throw new Error(`there is no measurement ${JSON.stringify(name)}`);
  process.stdout.write(`${JSON.stringify(await measure(args))}\n`);
  process.exit(0);
}
