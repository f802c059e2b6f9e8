/** Guards a watcher: anything that emits events in the manner of `fs.watch` or chokidar. */

import { explain } from '../core/explain.ts';
import { countEvent, initialStorm } from '../core/storm.ts';
import type { Clock } from '../ports/clock.ts';
import { options as checkOptions, fn, methods, quoted, whole } from './arguments.ts';
import type { EventSource, Watch, WatchOptions } from './front-door.ts';
import type { Notebook } from './notebook.ts';

const optionNames = ['maxEvents', 'windowSecs', 'events', 'onTrip'];
const eventsDefault = ['all', 'change', 'rename'];

export function watchSource(
  gear: { readonly clock: Clock; readonly notes: Notebook; readonly agent: string },
  name: string,
  source: EventSource,
  listener: (event: string, ...args: unknown[]) => void,
  options: WatchOptions,
): Watch {
  const { clock, notes } = gear;
  checkOptions('watch options', options, optionNames);
  const settings = {
    maxEvents: whole('maxEvents', options.maxEvents ?? 1_000, 1),
    windowSecs: whole('windowSecs', options.windowSecs ?? 10, 1),
  };
  methods(`the source of watch ${quoted(name)}`, source, ['on']);
  fn(`the listener of watch ${quoted(name)}`, listener);
  if (options.onTrip !== undefined) fn('onTrip', options.onTrip);
  let state = initialStorm(clock.nowMs());
  let closed = false;

  function take(event: string, args: unknown[]): void {
    if (closed) return;
    const atMs = clock.nowMs();
    const was = state.tripped;
    const verdict = countEvent(state, settings, atMs);
    if (verdict.kind === 'allow') {
      listener(event, ...args);
      return;
    }
    if (was) return; // Paused: told once.
    notes.write({ type: 'storm-tripped', name, counters: verdict.counters }, { agent: gear.agent }, atMs);
    try {
      options.onTrip?.(explain(verdict, { name, agent: gear.agent, atMs }));
    } catch (error) {
      notes.countError('onTrip', error, atMs);
    }
  }

  for (const event of options.events ?? eventsDefault) {
    source.on(event, (...args: unknown[]) => take(event, args));
  }

  const close = () => {
    closed = true;
    source.close?.();
  };
  return {
    get paused() {
      return state.tripped;
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
