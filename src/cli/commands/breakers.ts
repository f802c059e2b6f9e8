/** `switchgear trip` and `switchgear reset`: a hand on the breakers of every process on a store. */

import { manualTripCause, openSettingsUntil, withOrder, withoutTarget } from '../../coordination/operator-orders.ts';
import { defaultBreaker } from '../../core/controls/breaker/defaults.ts';
import { openBreaker, resetBreaker } from '../../core/controls/breaker/phases.ts';
import { type BreakerState, initialBreaker } from '../../core/controls/breaker/state.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { EntryBody } from '../../core/event.ts';
import { secsMax, storeBatchMax } from '../../core/limits.ts';
import { resolveBreaker } from '../../core/resolve-settings.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import { hasCounted, readStoredBreakers, type StoredBreaker } from '../../operator/breakers.ts';
import { formatCount, formatTimeSpan, sanitizeText } from '../../operator/format.ts';
import type { Change, CrossProcessStore } from '../../ports/store.ts';
import { type Command, exitCodes, type ParsedArgs, readArgs, type Terminal, usageError } from '../command.ts';
import { loadEffectivePolicy } from '../policy-option.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { makeOrderEntry, parseOrderReason, parseOrderTarget, sendOrder } from './send-order.ts';

export const tripCommand: Command = {
  usage: ['trip TOOL [--for SECS]           open the breakers of a tool by hand, in every process on a store'],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json'], 1, ['--store', '--for', '--reason']);
    const [tool] = parsedArgs.positionals;
    if (tool === undefined || tool === '') throw usageError('trip: say which tool');
    const settings = tripSettings(parsedArgs, tool, terminal);
    const address = findStoreAddress(parsedArgs, terminal);
    return withStore(address, async (store) => {
      const atMs = store.clock.nowMs();
      const expiry = settings.recovery === 'timed' ? { untilMs: atMs + settings.recoveryTimeoutSecs * 1000 } : {};
      const breakers = (await readStoredBreakers(store)).filter(({ name }) => name === tool);
      const reason = parseOrderReason(parsedArgs);
      await sendOrder(
        store,
        address,
        makeOrderEntry('trip', tool, reason),
        (orders) => ({ ...orders, trips: withOrder(orders.trips, { target: tool, atMs, reason, ...expiry }) }),
        breakers
          .slice(0, storeBatchMax)
          .map((each) => makeTripChange(store, each, openSettingsUntil(settings, expiry, atMs), atMs)),
      );
      if (parsedArgs.switches.has('--json')) {
        const opened = breakers.map(({ key }) => key);
        terminal.out(JSON.stringify({ tool, ...expiry, opened }, null, 2));
      } else {
        const durationText =
          expiry.untilMs === undefined ? 'until it is reset' : `for ${formatTimeSpan(expiry.untilMs - atMs)}`;
        terminal.out(`${sanitizeText(tool)} is tripped ${durationText}. ${describeOpened(breakers.length)}`);
      }
      return exitCodes.ok;
    });
  },
};

function describeOpened(count: number): string {
  const laterText = 'open when they are called next';
  return count === 0
    ? `None of its breakers is stored yet; they ${laterText}.`
    : `${formatCount(count, 'breaker')} opened; others of that name ${laterText}.`;
}

/** How long: as said, else as the policy here has it. */
function tripSettings({ values }: ParsedArgs, tool: string, terminal: Terminal): BreakerSettings {
  const secs = values.get('--for');
  if (secs === undefined) return resolveBreaker(loadEffectivePolicy(undefined, terminal).policy.settings, { tool });
  const recoveryTimeoutSecs = /^\d+(\.\d+)?$/.test(secs) ? Number(secs) : 0;
  if (recoveryTimeoutSecs <= 0 || recoveryTimeoutSecs > secsMax) {
    throw usageError(`--for must be seconds, more than 0 and at most ${secsMax}, got ${JSON.stringify(secs)}`);
  }
  return { ...defaultBreaker, recoveryTimeoutSecs };
}

function makeTripChange(
  store: CrossProcessStore,
  { key, name }: StoredBreaker,
  settings: BreakerSettings,
  atMs: number,
): Change {
  return makeBreakerChange(store, key, (state) => {
    openBreaker(state, settings, atMs, manualTripCause);
    const { generation, cause, openUntilMs: untilMs, trips } = state;
    const counters = { limit: settings.failureThreshold, trips };
    return { body: { type: 'breaker-opened', key, name, generation, cause, untilMs, counters }, atMs };
  });
}

export const resetCommand: Command = {
  usage: [
    'reset TOOL|--all                 close the breakers of a tool, or all of them, and forget what they counted',
  ],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json', '--all'], 1, ['--store']);
    const tool = parseOrderTarget(parsedArgs, 'a tool');
    const address = findStoreAddress(parsedArgs, terminal);
    return withStore(address, async (store) => {
      const storedBreakers = await readStoredBreakers(store);
      const breakers = storedBreakers.filter((each) => (tool ?? each.name) === each.name && hasCounted(each));
      const atMs = store.clock.nowMs();
      const changes = breakers.map(({ key, name }) => makeResetChange(store, key, name, atMs));
      const isSent = await sendOrder(store, address, makeOrderEntry('reset', tool, ''), (orders) => {
        const trips = tool === null ? [] : withoutTarget(orders.trips, tool);
        return trips.length === orders.trips.length && changes.length === 0 ? undefined : { ...orders, trips };
      });
      // A deal for some at a time: a thousand breakers need not be reset in one step.
      for (let at = 0; at < changes.length; at += storeBatchMax) {
        await sendOrder(store, address, undefined, () => undefined, changes.slice(at, at + storeBatchMax));
      }
      if (!isSent) {
        const subject = tool === null ? 'no breaker' : `no breaker of ${JSON.stringify(tool)}`;
        throw new SwitchgearError('not_found', `${subject} has counted anything on ${address.name}: nothing to reset`);
      }
      reportReset(breakers, tool, parsedArgs, terminal);
      return exitCodes.ok;
    });
  },
};

function reportReset(
  breakers: readonly StoredBreaker[],
  tool: string | null,
  { switches }: ParsedArgs,
  { out }: Terminal,
): void {
  if (switches.has('--json')) {
    out(JSON.stringify({ tool, reset: breakers.map(({ key }) => key) }, null, 2));
    return;
  }
  const names = [...new Set(breakers.map(({ name }) => sanitizeText(name)))].toSorted().join(', ');
  if (breakers.length === 0) out(`${sanitizeText(tool ?? 'all')}: the trip by hand is taken back.`);
  else out(`${formatCount(breakers.length, 'breaker')} reset: ${names}`);
  const heldBreakers = breakers.filter((each) => each.held);
  if (heldBreakers.length > 0)
    out(`${formatCount(heldBreakers.length, 'breaker')} held by a program: calls stay refused until it lets go.`);
}

function makeResetChange(store: CrossProcessStore, key: string, name: string, atMs: number): Change {
  return makeBreakerChange(store, key, (state) => {
    resetBreaker(state);
    return { body: { type: 'breaker-reset', key, name, generation: state.generation }, atMs };
  });
}

function makeBreakerChange(
  store: CrossProcessStore,
  key: string,
  update: (state: BreakerState) => { readonly body: EntryBody; readonly atMs: number },
): Change {
  const cell = store.cell(key, () => initialBreaker(defaultBreaker), store.shared.breakers.cell);
  const change: Change<BreakerState> = {
    cell,
    update(state) {
      const entry = update(state);
      return { state, entries: [{ ...entry, place: { breaker: key } }] };
    },
  };
  return change as unknown as Change;
}
