/**
 * Evaluates alerts and sends cards to webhooks, as long as this server has the lease of the store. Nothing here delays
 * or fails a request.
 */

import { formatTimeSpan } from '../../core/quote.ts';
import type { AlertSettings } from '../../core/settings.ts';
import { alertLeaseMs } from '../../operator/alerts/alert-cells.ts';
import { type AlertCause, findCauses } from '../../operator/alerts/find-causes.ts';
import { readAlertLease } from '../../operator/alerts/read-alerts.ts';
import { listAlertRules } from '../../operator/alerts/rules.ts';
import { releaseLease, takeLease, updateAlerts } from '../../operator/alerts/update-alerts.ts';
import type { CardHistory } from '../../operator/inbox/card-history.ts';
import { readAllTasks } from '../../operator/status.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { createDeliverer } from './deliver.ts';
import { createDirectSender } from './direct-sender.ts';
import { deliverMs, evaluateMs } from './limits.ts';
import type { Webhook } from './resolve-webhooks.ts';

/** The thresholds and webhooks of a server. */
export interface AlertOptions {
  readonly settings: AlertSettings;
  /** Reads the thresholds before each evaluation, so that a changed policy holds; keeps the last ones if it rejects. */
  readonly readSettings?: (() => Promise<AlertSettings>) | undefined;
  readonly webhooks: readonly Webhook[];
  /** How often causes are looked for, in milliseconds. @default 5000 */
  readonly evaluateMs?: number;
  /** How often new cards are sent, in milliseconds. @default 1000 */
  readonly deliverMs?: number;
  /** How long another server waits for a sign of this one, in milliseconds. @default 15000 */
  readonly leaseMs?: number;
}

interface WatchOptions extends AlertOptions {
  readonly store: CrossProcessStore;
  readonly storeName: string;
  readonly readCardHistory: () => Promise<CardHistory>;
  /** The address of the page, without a slash at its end. */
  readonly pageUrl: string;
}

/** The evaluation of one server. */
export interface AlertWatch {
  /** Ends the evaluation and gives the lease back. */
  close(): Promise<void>;
}

/** Begins to evaluate. */
export function watchAlerts(options: WatchOptions): AlertWatch {
  const { store, webhooks, pageUrl, readCardHistory } = options;
  const { shared, clock } = store;
  const { leaseMs = alertLeaseMs } = options;
  const deliverers = webhooks.map((webhook) => createDeliverer(store, webhook, () => pageUrl));
  let { settings } = options;
  const outage = createOutageWatch(options, () => settings);
  const shownWebhooks = webhooks.map(showWebhook);
  const startedWallMs = clock.wallMs();
  let hasLease = false;
  let renewedMs = Number.NEGATIVE_INFINITY;
  let evaluatedMs = Number.NEGATIVE_INFINITY;
  let isClosed = false;
  let cancel = () => {};
  let ticking: Promise<void> = Promise.resolve();

  async function holdLease(): Promise<boolean> {
    const atMs = clock.nowMs();
    if (hasLease && atMs - renewedMs < leaseMs / leaseRenewals) return true;
    if (!hasLease) {
      const { holder, untilMs } = (await readAlertLease(store)) ?? { holder: '', untilMs: 0 };
      if (holder !== shared.process && untilMs > atMs) return false;
    }
    const lease = { rules: listAlertRules(settings), webhooks: shownWebhooks, startedWallMs };
    hasLease = await takeLease(store, lease, leaseMs);
    renewedMs = atMs;
    return hasLease;
  }

  async function reloadSettings(): Promise<void> {
    const next = (await options.readSettings?.().catch(() => undefined)) ?? settings;
    if (next === settings) return;
    settings = next;
    renewedMs = Number.NEGATIVE_INFINITY; // The lease names the rules in force.
  }

  async function evaluate(): Promise<void> {
    const atMs = clock.nowMs();
    if (atMs - evaluatedMs < (options.evaluateMs ?? evaluateMs)) return;
    evaluatedMs = atMs;
    await reloadSettings();
    // Opens the cards of lost runs and tasks, also while nobody lists them.
    await readAllTasks(store, async () => []);
    const causes = await findCauses({ store, settings, webhooks: shownWebhooks, readCardHistory });
    await updateAlerts(store, [...causes, ...outage.takeCauses()], settings);
  }

  async function tick(): Promise<void> {
    outage.look(hasLease);
    if (shared.health.state !== 'shared' || !(await holdLease())) return;
    for (const deliverer of deliverers) await deliverer.prepare();
    await evaluate();
    for (const deliverer of deliverers) void deliverer.deliver();
  }

  function schedule(): void {
    cancel = clock.after(options.deliverMs ?? deliverMs, () => {
      ticking = tick()
        .catch(() => undefined) // The store is away or full; the next tick tries again.
        .finally(() => {
          if (!isClosed) schedule();
        });
    });
  }

  schedule();
  return {
    async close() {
      isClosed = true;
      cancel();
      await ticking;
      if (!hasLease || shared.health.state !== 'shared') return;
      await Promise.all(deliverers.map((deliverer) => deliverer.close()));
      await releaseLease(store);
    },
  };
}

/** How often a lease is renewed before it would end. */
const leaseRenewals = 3;

function showWebhook({ name, host, format, events, isSigned, problem }: Webhook) {
  return { name, host, format, events, isSigned, ...(problem !== undefined && { problem }) };
}

/**
 * Watches the health of the store. A card cannot be stored while the store is away, so the server that has the lease
 * tells webhooks directly; the card is opened and closed when the store is back.
 */
function createOutageWatch(
  { store, storeName, webhooks, pageUrl }: WatchOptions,
  getSettings: () => Pick<AlertSettings, 'storeAwaySecs' | 'periodSecs'>,
) {
  const { shared, clock } = store;
  const sender = createDirectSender(webhooks, clock);
  let awaySinceMs: number | undefined;
  let wasHolder = false;
  let reason = '';
  let isTold = false;
  let toldMs = Number.NEGATIVE_INFINITY;
  let causes: readonly AlertCause[] = [];

  function tell(type: 'alert' | 'over', headline: string, sinceMs: number): void {
    sender.send({
      type,
      headline,
      lines: [reason],
      link: `${pageUrl}/#/store`,
      cause: `store-away-${Math.round(sinceMs)}`,
    });
  }

  return {
    /** Called with every tick. */
    look(hasLease: boolean): void {
      sender.tick();
      const atMs = clock.nowMs();
      if (shared.health.state === 'shared') {
        if (awaySinceMs !== undefined) end(awaySinceMs, atMs);
        return;
      }
      if (awaySinceMs === undefined) {
        awaySinceMs = atMs;
        wasHolder = hasLease;
        isTold = false;
      }
      ({ reason } = shared.health);
      const settings = getSettings();
      const isLong = atMs - awaySinceMs > settings.storeAwaySecs * 1000;
      if (!isLong || isTold) return;
      isTold = true;
      if (!wasHolder || atMs - toldMs < settings.periodSecs * 1000) return;
      toldMs = atMs;
      tell('alert', `Alert: the store ${storeName} is away for ${formatTimeSpan(atMs - awaySinceMs)}`, awaySinceMs);
    },
    /** The causes since the last call. */
    takeCauses(): readonly AlertCause[] {
      const taken = causes;
      causes = [];
      return taken;
    },
  };

  function end(sinceMs: number, atMs: number): void {
    awaySinceMs = undefined;
    if (!isTold) return;
    const span = formatTimeSpan(atMs - sinceMs);
    if (wasHolder && toldMs > sinceMs) tell('over', `Over: the store ${storeName} was away for ${span}`, sinceMs);
    const evidence = [`the store was away for ${span}: each process went on with what it knew`, reason];
    const cause = { rule: 'StoreDown', key: 'store', subject: 'the store', repeats: true } as const;
    causes = [{ ...cause, value: (atMs - sinceMs) / 1000, limit: getSettings().storeAwaySecs, evidence }];
  }
}
