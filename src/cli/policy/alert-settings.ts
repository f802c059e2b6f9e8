/** Reads the alert thresholds of a policy again while a server runs. */

import type { AlertSettings } from '../../core/settings.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import type { Terminal } from '../command.ts';
import type { CallerPlace } from './policy-in-force.ts';
import { createPolicyReader } from './policy-reader.ts';

/** Creates a function that reads the thresholds: the same object while none of them changed. */
export function createAlertSettingsReader(
  started: CheckedPolicy,
  terminal: Terminal,
  place: CallerPlace,
  policyOption?: string,
): () => Promise<AlertSettings> {
  const readPolicy = createPolicyReader(started, policyOption, terminal, place);
  let { alerts } = started.settings;
  return async () => {
    const next = (await readPolicy()).settings.alerts;
    if (JSON.stringify(next) !== JSON.stringify(alerts)) alerts = next;
    return alerts;
  };
}
