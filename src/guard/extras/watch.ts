/** Guards a watcher that emits events like `fs.watch` or chokidar. */

import { countEvent, initialStorm } from '../../core/controls/storm.ts';
import { explain } from '../../core/messages/explain.ts';
import { quoteValue } from '../../core/quote.ts';
import { callUnawaited } from '../../core/thenable.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Watch, WatchOptions, WatchSource } from '../call-options.ts';
import { appendEntry, countError } from '../journal/journal.ts';
import { type Checks, fn, name as isName, list, methods, options, whole } from '../runtime/option-checks.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';

const count = (what: string, value: unknown) => whole(what, value, 1);
const checks: Checks = {
  maxEvents: count,
  windowSecs: count,
  events: (what, value) => list(what, value).map((event) => isName('an event', event)),
  onTrip: fn,
};

/** Passes events of a source to a listener until there are more than `maxEvents` in a window. */
export function watch(
  runtime: Runtime,
  name: string,
  source: WatchSource,
  listener: (event: string, ...args: unknown[]) => void,
  watchOptions: WatchOptions = {},
): Watch {
  const { clock, agent } = runtime;
  isName('the name of a watch', name);
  options('watch options', watchOptions, checks);
  methods('on')(`the source of watch ${quoteValue(name)}`, source);
  fn(`the listener of watch ${quoteValue(name)}`, listener);
  const { maxEvents = 1_000, windowSecs = 10, onTrip, events = ['all', 'change', 'rename'] } = watchOptions;
  let state = initialStorm(clock.nowMs());
  let closed = false;

  function take(event: string, args: unknown[]): void {
    if (closed) return;
    const atMs = clock.nowMs();
    const was = state.tripped;
    const verdict = countEvent(state, { maxEvents, windowSecs }, atMs);
    const observed = isObserving(runtime);
    if (verdict.kind !== 'allow' && !was) tell(verdict, observed, atMs); // Report the trip once.
    if (verdict.kind !== 'allow' && !observed) return;
    // An error must not end the process that watches.
    callUnawaited(
      () => listener(event, ...args),
      (error) => countError(runtime, `listener of watch ${name}`, error),
    );
  }

  function tell(verdict: Stop, observed: boolean, atMs: number): void {
    const counters = observed ? { ...verdict.counters, observed: 1 } : verdict.counters;
    appendEntry(runtime, { type: 'storm-tripped', name, counters }, { agent }, atMs);
    if (observed) return; // An observing gear pauses nothing.
    callUnawaited(
      () => onTrip?.(explain(verdict, { name, agent, atMs })),
      (error) => countError(runtime, 'onTrip', error),
    );
  }

  for (const event of events) {
    source.on(event, (...args: unknown[]) => take(event, args));
  }

  const close = () => {
    closed = true;
    source.close?.();
  };
  return {
    get paused() {
      return state.tripped && !isObserving(runtime);
    },
    restart() {
      const atMs = clock.nowMs();
      if (!state.tripped) return;
      const counters = { dropped: state.dropped };
      state = initialStorm(atMs);
      appendEntry(runtime, { type: 'storm-restarted', name, counters }, { agent }, atMs);
    },
    close,
    [Symbol.dispose]: close,
  };
}
