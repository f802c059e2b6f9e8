/** A watcher that causes its own events: it is paused after a burst, and only a hand starts it again. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { watch as fsWatch, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSwitchgear } from 'switchgear';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-'));
const gear = createSwitchgear({ agent: 'Indexer', log: 'silent' });
const stopped = new AbortController();
let handled = 0;

/** The mistake: what handles an event writes into the folder that is watched. */
const touch = () => writeFileSync(join(folder, 'index.log'), `${handled}\n`, { flag: 'a' });

const watching = gear.watch(
  'docs folder',
  fsWatch(folder),
  () => {
    handled++;
    touch();
  },
  {
    maxEvents: 20,
    windowSecs: 60,
    onTrip: (refusal) => {
      console.log(refusal.explanation);
      stopped.abort();
    },
  },
);

const tripped = once(stopped.signal, 'abort');
touch();
await tripped;
assert.equal(watching.paused, true);
assert.equal(handled, 20);

watching.restart();
assert.equal(watching.paused, false);
watching.close();
rmSync(folder, { recursive: true });
console.log(`handled ${handled} events, then nothing until the restart`);
