/** Clocks that jump and processes that freeze: no probe too early, no lease given twice, no time that goes back. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBreaker } from '../../src/core/controls/breaker/phases.ts';
import type { BreakerState } from '../../src/core/controls/breaker/state.ts';
import { onBothStores } from './both-stores.ts';
import { breakerCell, openStore, roundTransaction, settingsOf, type Where } from './breaker-transactions.ts';
import {
  type Child,
  type Form,
  idleTwin,
  pause,
  type Report,
  report,
  startChild,
  type Verdict,
  verdictOf,
} from './verdict.ts';

interface Asked {
  readonly status: string;
  readonly atMs: number;
}

/** How far the wall clock is moved, in seconds, one after the other. */
const jumps = [3_600, -3_600, 86_400 * 400, -86_400 * 400, 0];
/** The store's time may be off by this much between processes: half a round trip to Redis, and its slewing. */
const toleranceMs = 5;
const library = 'libfaketime.so.1';

export async function clocks(form: Form): Promise<Verdict> {
  const told = report(form);
  await onBothStores((name, where, folder) => on(name, where, folder, form, told), form.short);
  return verdictOf('clocks', form, told);
}

async function on(name: string, where: Where, folder: string, form: Form, told: Report): Promise<void> {
  const offset = join(folder, `${name}-offset`);
  writeFileSync(offset, '+0s');
  const preload = faketime();
  const env = {
    LD_PRELOAD: preload,
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
  const roles = ['jumping', 'frozen', 'steady'].map((each) => ({ where, door: 'soon', name: each }));
  const [jumping, frozen, steady] = await Promise.all(
    roles.map((role, at) => startChild('probes-child.ts', role, at === 0 && preload !== '' ? env : {})),
  );
  told.figures[`${name}: wall clock`] = preload === '' ? 'not moved: faketime is not installed' : 'moved';
  const stall = await idleTwin();
  let apartMs = 0;
  const move = (secs: number) => writeFileSync(offset, `${secs < 0 ? '-' : '+'}${Math.abs(secs)}s`);
  for (let round = 0; round < (form.short ? 1 : 20); round++) {
    apartMs = Math.max(apartMs, await jump(name, where, jumping!, move, told));
    await freeze(name, where, frozen!, steady!, told);
  }
  const stalled = await stall();
  told.late(apartMs > toleranceMs && apartMs > 2 * stalled, `${name}: two processes were ${apartMs} ms apart`);
  told.figures[`${name}: two processes apart, at most ms`] = Math.round(apartMs * 10) / 10;
  told.figures[`${name}: idle twin ms`] = Math.round(stalled * 10) / 10;
  told.figures[`${name}: rounds`] = form.short ? 1 : 20;
  await Promise.all([jumping, frozen, steady].map((child) => child!.kill()));
}

/**
 * The wall clock of one process jumps while a breaker is open: it is let through when the time is over, not before.
 * How far its time was behind that of another process is handed out: that is as good as their lines to the store.
 */
async function jump(
  name: string,
  where: Where,
  child: Child,
  move: (secs: number) => void,
  told: Report,
): Promise<number> {
  const openMs = 250;
  const ask = { permits: 1, leaseSecs: 15 };
  const settings = settingsOf(1, 15);
  const store = await openStore(where);
  const cell = breakerCell(store);
  const openedMs = performance.now();
  const update = (state: BreakerState) => {
    openBreaker(state, settings, store.clock.nowMs(), 'a round');
    state.openUntilMs = store.clock.nowMs() + openMs;
    return { state };
  };
  const opened = await store.shared.commit({ changes: [{ cell, update }] });
  told.fault(opened.status !== 'committed', `${name}: the breaker could not be opened: ${opened.status}`);
  const hereMs = store.clock.nowMs();
  let apartMs = 0;
  let seenMs = Number.NEGATIVE_INFINITY;
  for (let at = 0; ; at++) {
    move(jumps[Math.min(at, jumps.length - 1)]!);
    const { status, atMs } = await child.ask<Asked>(ask);
    const passedMs = performance.now() - openedMs;
    if (at === 0) apartMs = Math.max(0, hereMs - atMs);
    told.fault(atMs < seenMs, `${name}: the time of the store went back by ${seenMs - atMs} ms`);
    told.fault(
      atMs - Math.max(seenMs, hereMs - toleranceMs) > passedMs + 2 * toleranceMs,
      `${name}: the time of the store went on by ${atMs - seenMs} ms`,
    );
    seenMs = Math.max(seenMs, atMs);
    told.fault(
      status === 'committed' && passedMs < openMs - toleranceMs,
      `${name}: a probe after ${passedMs} of ${openMs} ms`,
    );
    if (status === 'committed') break;
    if (passedMs > 20 * openMs) {
      told.fault(true, `${name}: no probe after ${passedMs} of ${openMs} ms`);
      break;
    }
    await pause(20);
  }
  move(0);
  store.close();
  return apartMs;
}

/** Who holds the probe freezes for longer than its lease: somebody else gets one then, and the frozen one none. */
async function freeze(name: string, where: Where, frozen: Child, steady: Child, told: Report): Promise<void> {
  const ask = { permits: 1, leaseSecs: 0.3 };
  const settings = settingsOf(1, ask.leaseSecs);
  const store = await openStore(where);
  await store.shared.commit(roundTransaction(breakerCell(store), settings, store.clock.nowMs()));
  const first = await frozen.ask<Asked>(ask);
  told.fault(first.status !== 'committed', `${name}: the first probe was ${first.status}`);
  frozen.process.kill('SIGSTOP');
  let second: Asked;
  do {
    await pause(10);
    second = await steady.ask<Asked>(ask);
  } while (second.status !== 'committed' && second.atMs < first.atMs + 20_000 * ask.leaseSecs);
  const apartMs = second.atMs - first.atMs;
  told.fault(second.status !== 'committed', `${name}: no probe ${apartMs} ms after the one of a frozen process`);
  told.fault(apartMs < ask.leaseSecs * 1_000 - toleranceMs, `${name}: a second probe ${apartMs} ms after the first`);
  frozen.process.kill('SIGCONT');
  const third = await frozen.ask<Asked>(ask);
  const laterMs = third.atMs - second.atMs;
  const isDouble = third.status === 'committed' && laterMs < ask.leaseSecs * 1_000 - toleranceMs;
  told.fault(isDouble, `${name}: a process that was frozen got a probe ${laterMs} ms after another`);
  told.fault(third.atMs < first.atMs, `${name}: time went back in a process that was frozen`);
  store.close();
}

/** Where the library lies that moves the wall clock of a process; '' where it cannot be had. */
function faketime(): string {
  const find = () =>
    readdirSync('/usr/lib', { withFileTypes: true })
      .filter((each) => each.isDirectory())
      .map(({ name }) => join('/usr/lib', name, 'faketime', library))
      .find((path) => existsSync(path));
  if (process.platform !== 'linux') return '';
  const found = find();
  if (found !== undefined || process.getuid?.() !== 0) return found ?? '';
  try {
    execFileSync('apt-get', ['install', '-y', 'faketime'], { stdio: 'ignore' });
  } catch {
    return '';
  }
  return find() ?? '';
}
