/** Guards a watcher: anything that emits events in the manner of `fs.watch` or chokidar. */

import { explain } from '../core/explain.ts';
import { quoted } from '../core/quoted.ts';
import { countEvent, initialStorm } from '../core/storm.ts';
import type { Stop } from '../core/verdict.ts';
import type { Clock } from '../ports/clock.ts';
import * as check from './arguments.ts';
import type { EventSource, Watch, WatchOptions } from './front-door.ts';
import type { Notebook } from './notebook.ts';

const optionNames = ['maxEvents', 'windowSecs', 'events', 'onTrip'];
const eventsDefault = ['all', 'change', 'rename'];

export function watchSource(
  gear: {
    readonly clock: Clock;
    readonly notes: Notebook;
    readonly agent: string;
    readonly observes: () => boolean;
  },
  name: string,
  source: EventSource,
  listener: (event: string, ...args: unknown[]) => void,
  options: WatchOptions,
): Watch {
  const { clock, notes, observes } = gear;
  check.options('watch options', options, optionNames);
  const settings = {
    maxEvents: check.whole('maxEvents', options.maxEvents ?? 1_000, 1),
    windowSecs: check.whole('windowSecs', options.windowSecs ?? 10, 1),
  };
  check.methods(`the source of watch ${quoted(name)}`, source, ['on']);
  check.fn(`the listener of watch ${quoted(name)}`, listener);
  if (options.onTrip !== undefined) check.fn('onTrip', options.onTrip);
  const events = options.events === undefined ? eventsDefault : check.list('events', options.events);
  for (const event of events) check.name('an event', event);
  let state = initialStorm(clock.nowMs());
  let closed = false;

  function take(event: string, args: unknown[]): void {
    if (closed) return;
    const atMs = clock.nowMs();
    const was = state.tripped;
    const verdict = countEvent(state, settings, atMs);
    const observed = observes();
    if (verdict.kind !== 'allow' && !was) tell(verdict, observed, atMs); // Paused: told once.
    if (verdict.kind === 'allow' || observed) listener(event, ...args);
  }

  function tell(verdict: Stop, observed: boolean, atMs: number): void {
    const counters = observed ? { ...verdict.counters, observed: 1 } : verdict.counters;
    notes.write({ type: 'storm-tripped', name, counters }, { agent: gear.agent }, atMs);
    if (observed) return; // Nothing is paused, so nobody is told to pause it for real.
    try {
      options.onTrip?.(explain(verdict, { name, agent: gear.agent, atMs }));
    } catch (error) {
      notes.countError('onTrip', error, atMs);
    }
  }

  for (const event of events as readonly string[]) {
    source.on(event, (...args: unknown[]) => take(event, args));
  }

  const close = () => {
    closed = true;
    source.close?.();
  };
  return {
    get paused() {
      return state.tripped && !observes();
    },
    restart() {
      const atMs = clock.nowMs();
      if (!state.tripped) return;
      const counters = { dropped: state.dropped };
      state = initialStorm(atMs);
      notes.write({ type: 'storm-restarted', name, counters }, { agent: gear.agent }, atMs);
    },
    close,
    [Symbol.dispose]: close,
  };
}
