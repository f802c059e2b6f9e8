/** The command `switchgear tail`: prints and follows the journal of every process on a store. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry } from '../../core/event.ts';
import { journalEntriesMax } from '../../core/limits.ts';
import { formatEntry } from '../../operator/format-entry.ts';
import { readJournalEntries, readNewestEntries } from '../../operator/journal.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { type Command, exitCodes, readArgs, type Terminal, usageError } from '../command.ts';
import { findStoreAddress, storeExists, withStore } from '../store-option.ts';
import { createPaint } from '../terminal-table.ts';

const pollMs = 250;

export const command: Command = {
  usage: ['tail [-n N] [--follow]           print the last entries of the journal, and with --follow new ones'],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json', '--follow', '-f'], 0, ['--store', '-n']);
    const lineCount = parsedArgs.values.get('-n') ?? '20';
    if (!/^\d{1,9}$/.test(lineCount)) throw usageError(`-n must be a whole number, got ${JSON.stringify(lineCount)}`);
    const address = findStoreAddress(parsedArgs, terminal);
    const follows = parsedArgs.switches.has('--follow') || parsedArgs.switches.has('-f');
    if (!follows && !storeExists(address)) return exitCodes.ok;
    const print = createEntryPrinter(terminal, parsedArgs.switches.has('--json'));
    await withStore(address, async (store) => {
      const entries = await readNewestEntries(store.shared, Math.min(Number(lineCount), journalEntriesMax));
      for (const entry of entries) print(entry);
      if (follows) await followJournal(store, entries.at(-1)?.seq, print, terminal);
    });
    return exitCodes.ok;
  },
};

async function followJournal(
  { shared }: CrossProcessStore,
  fromSeq: number | undefined,
  print: (entry: Entry) => void,
  { stopSignal, err }: Terminal,
): Promise<void> {
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  stopSignal?.addEventListener('abort', stop, { once: true });
  const unwatch = shared.watch((hint) => {
    if (hint.type !== 'cell-changed') err(`switchgear: the store is ${hint.type}: ${hint.reason}`);
  });
  let last = fromSeq ?? (await readNewestEntries(shared, 1)).at(-1)?.seq ?? 0;
  try {
    while (!stopped.signal.aborted && stopSignal?.aborted !== true) {
      // While the store is away, the next look tries again.
      for (const entry of await readJournalEntries(shared, last + 1, journalEntriesMax).catch(() => [])) {
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

/** Prints entries, and a line with the date before the first entry of another day. */
function createEntryPrinter(terminal: Terminal, asJson: boolean): (entry: Entry) => void {
  if (asJson) return (entry) => terminal.out(JSON.stringify(entry));
  const paint = createPaint(terminal);
  let day = new Date().toDateString();
  return (entry) => {
    const then = new Date(entry.wallMs);
    if (then.toDateString() !== day) {
      day = then.toDateString();
      terminal.out(paint(`-- ${day} --`, 'dim'));
    }
    terminal.out(formatEntry(entry, paint));
  };
}
