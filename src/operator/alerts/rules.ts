/** The built-in alerts: their names, thresholds, words and runbooks. */

import { unlimited } from '../../core/declare/setting.ts';
import type { AlertSettings } from '../../core/settings.ts';

/** The names of the alerts, which the shipped Prometheus rules have as well. */
export type AlertName =
  | 'BreakerTrips'
  | 'FailureRate'
  | 'BreakerOpen'
  | 'BudgetBurn80'
  | 'BudgetBurn95'
  | 'InboxStale'
  | 'StoreDown'
  | 'WebhookFailing';

/** A built-in alert with its threshold. */
export interface AlertRule {
  readonly name: AlertName;
  /** The setting of the threshold. */
  readonly setting: string;
  /** The threshold; absent if the alert is switched off. */
  readonly threshold?: number;
  /** The condition, in words. */
  readonly condition: string;
  readonly severity: 'warning' | 'critical';
  /** The address of the page that says what to do. */
  readonly runbook: string;
}

const runbooks = 'https://github.com/switchgear/switchgear/blob/main/docs/runbooks';

/** Failures in a row after which a webhook counts as failing. */
export const webhookFailuresMin = 3;

type Declared = readonly [
  page: string,
  setting: (keyof AlertSettings & string) | '',
  severity: AlertRule['severity'],
  describe: (threshold: number) => string,
];

const percent = (share: number) => `${Math.round(share * 1000) / 10} %`;

const declared: Readonly<Record<AlertName, Declared>> = {
  BreakerTrips: ['breaker-trips', 'tripsPerHour', 'warning', (limit) => `more than ${limit} trips in an hour`],
  FailureRate: ['failure-rate', 'failureRate', 'warning', (limit) => `more than ${percent(limit)} of the calls fail`],
  BreakerOpen: ['breaker-open', 'timeInOpenSecs', 'warning', (limit) => `open for more than ${limit} s`],
  BudgetBurn80: ['budget-burn', 'spendShare', 'warning', (limit) => `${percent(limit)} of a budget used`],
  BudgetBurn95: ['budget-burn', 'spendShareHigh', 'critical', (limit) => `${percent(limit)} of a budget used`],
  InboxStale: [
    'inbox-stale',
    'waitingSecs',
    'critical',
    (limit) => `an agent waits for a person longer than ${limit} s`,
  ],
  StoreDown: ['store-down', 'storeAwaySecs', 'critical', (limit) => `the store is away for more than ${limit} s`],
  WebhookFailing: ['webhook-failing', '', 'warning', (limit) => `a webhook fails ${limit} times in a row`],
};

/** The names of all built-in alerts. */
export const alertNames: readonly AlertName[] = Object.keys(declared) as AlertName[];

/** The alerts with the thresholds of these settings. */
export function listAlertRules(settings: AlertSettings): readonly AlertRule[] {
  return (Object.entries(declared) as [AlertName, Declared][]).map(([name, [page, setting, severity, describe]]) => {
    const threshold = setting === '' ? webhookFailuresMin : settings[setting];
    const isOff = threshold >= unlimited;
    return {
      name,
      setting: setting === '' ? '' : `alerts.${setting.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
      ...(!isOff && { threshold }),
      condition: isOff ? 'off' : describe(threshold),
      severity,
      runbook: `${runbooks}/${page}.md`,
    };
  });
}
