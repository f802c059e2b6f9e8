/** `switchgear tail`: the journal of every process on a store, as it is and as it goes on. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry } from '../../core/event.ts';
import { journalEntriesMax } from '../../core/limits.ts';
import { entryLine } from '../../operator/entry-line.ts';
import { entriesFrom, newest } from '../../operator/journal.ts';
import { type Command, exitCodes, readArgs, type Terminal, usageError } from '../command.ts';
import { type CrossProcessStore, findStoreAddress, storeExists, withStore } from '../store-option.ts';
import { createPaint } from '../terminal-table.ts';

const pollMs = 250;

export const command: Command = {
  usage: ['tail [-n N] [--follow]           print the last lines of the journal, and with --follow those that come'],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json', '--follow', '-f'], 0, ['--store', '-n']);
    const many = parsedArgs.values.get('-n') ?? '20';
    if (!/^\d{1,9}$/.test(many)) throw usageError(`-n must be a whole number, got ${JSON.stringify(many)}`);
    const address = findStoreAddress(parsedArgs, terminal);
    const follows = parsedArgs.switches.has('--follow') || parsedArgs.switches.has('-f');
    if (!follows && !storeExists(address)) return exitCodes.ok;
    const print = printer(terminal, parsedArgs.switches.has('--json'));
    await withStore(address, async (store) => {
      const first = await newest(store.shared, Math.min(Number(many), journalEntriesMax));
      for (const entry of first) print(entry);
      if (follows) await follow(store, first.at(-1)?.seq, print, terminal);
    });
    return exitCodes.ok;
  },
};

async function follow(
  { shared }: CrossProcessStore,
  seq: number | undefined,
  print: (entry: Entry) => void,
  { stopSignal: leave, err }: Terminal,
): Promise<void> {
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  leave?.addEventListener('abort', stop, { once: true });
  const unwatch = shared.watch((hint) => {
    if (hint.type !== 'cell-changed') err(`switchgear: the store is ${hint.type}: ${hint.reason}`);
  });
  let last = seq ?? (await newest(shared, 1)).at(-1)?.seq ?? 0;
  try {
    while (!stopped.signal.aborted && leave?.aborted !== true) {
      for (const entry of await entriesFrom(shared, last + 1, journalEntriesMax)) {
        print(entry);
        last = entry.seq;
      }
      await sleep(pollMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  } finally {
    unwatch();
    process.removeListener('SIGINT', stop);
    process.removeListener('SIGTERM', stop);
  }
}

/** Prints entries; a new day is said in a line of its own. */
function printer(terminal: Terminal, asJson: boolean): (entry: Entry) => void {
  if (asJson) return (entry) => terminal.out(JSON.stringify(entry));
  const paint = createPaint(terminal);
  let day = new Date().toDateString();
  return (entry) => {
    const then = new Date(entry.wallMs);
    if (then.toDateString() !== day) {
      day = then.toDateString();
      terminal.out(paint(`-- ${day} --`, 'dim'));
    }
    terminal.out(entryLine(entry, paint));
  };
}
