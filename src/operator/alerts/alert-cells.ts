/** What the store keeps about alerts: the lease of the server that evaluates them, the causes, and the webhooks. */

import type { WebhookEvent, WebhookFormat } from '../../core/declare/webhook-settings.ts';
import type { AlertName, AlertRule } from './rules.ts';

/** The lease: one server evaluates until this time of the store, and renews it. */
export interface AlertLease {
  readonly holder: string;
  readonly untilMs: number;
  /** The rules and webhooks of the policy of that server. */
  readonly rules: readonly AlertRule[];
  readonly webhooks: readonly AlertWebhook[];
  readonly startedWallMs: number;
}

/** A webhook without its address, which may be a secret. */
export interface AlertWebhook {
  readonly name: string;
  readonly host: string;
  readonly format: WebhookFormat;
  readonly events: readonly WebhookEvent[];
  readonly isSigned: boolean;
  /** Why the webhook cannot be used. */
  readonly problem?: string;
}

/** A cause that fired: one breaker, budget, task or webhook, or the inbox, under one rule. */
export interface AlertRecord {
  readonly rule: AlertName;
  /** What it is about, in words. */
  readonly subject: string;
  readonly value: number;
  readonly limit: number;
  /** The card of the newest period. */
  readonly card: string;
  readonly sinceWallMs: number;
  /** When the card was opened, in the time of the store. */
  readonly firedMs: number;
  /** The last write of this record. */
  readonly seenMs: number;
  /** Since when the cause is over. */
  readonly overWallMs?: number;
  /** Whether the cause was over and came back within the period. */
  readonly cameBack?: true;
}

/** How a message to a webhook went. */
export interface Delivery {
  readonly card: string;
  readonly type: string;
  readonly wallMs: number;
  readonly result: 'delivered' | 'failed' | 'dropped';
  readonly attempts: number;
  /** The status of the answer, or the error. */
  readonly detail: string;
}

/** The progress of one webhook. */
export interface WebhookProgress {
  /** The last entry of the journal that was handled. */
  readonly cursor: number;
  /** Failures in a row, and attempts for the entry after the cursor. */
  readonly failures: number;
  readonly attempts: number;
  readonly nextTryMs: number;
  /** When the entry after the cursor was tried first. */
  readonly firstTryMs?: number;
  /** Messages that were given up. */
  readonly dropped: number;
  /** Open cards that were sent, the newest last: a card that changes while it is open is not sent again. */
  readonly told?: readonly string[];
  /** Alerts whose end was sent, the newest last: an alert that comes back within its period ends silently. */
  readonly ended?: readonly string[];
  /** The message that was begun, up to its last entry: whoever sends it again sends the same one. */
  readonly underWay?: { readonly id: string; readonly lastSeq: number; readonly isDigest: boolean };
  /** The newest deliveries, newest first. */
  readonly deliveries: readonly Delivery[];
}

export const alertLeaseKey = 'alerts-lease';
export const alertPrefix = 'alerts/';
export const webhookPrefix = 'alerts-webhook/';

/** How long one server evaluates without a sign. */
export const alertLeaseMs = 15_000;
/** Causes that fire at once; more are counted in the last one. */
export const alertCausesMax = 200;
/** How long the store keeps a cause that is over, and how often a cause that lasts is written again. */
export const alertKeepMs = 7 * 86_400_000;
export const alertRewriteMs = 60_000;
/** Deliveries of a webhook that are shown, and open cards that it remembers to have sent. */
export const deliveriesMax = 20;
export const toldCardsMax = 200;
