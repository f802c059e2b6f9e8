/** Sets the settings of all breakers of a name, existing and future; used by `switchgear/compat`. */

import { breakerFields } from '../../core/controls/breaker/fields.ts';
import { checkSettingOverrides } from '../../core/declare/setting-overrides.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import type { Switchgear } from '../api.ts';
import { breakerAt, breakersOf } from '../breakers/breaker-registry.ts';
import { callSiteFor, resetCallSites, targetFor } from '../route/call-site.ts';
import { recordTuning } from '../route/target.ts';
import { runtimeOf } from '../runtime/runtime.ts';

export function tuneBreaker(gear: Switchgear, name: string, overrides: Readonly<Record<string, unknown>>): void {
  const runtime = runtimeOf(gear);
  const { settings, tunings } = runtime;
  const checked = checkSettingOverrides(breakerFields, settings.circuitBreaker, overrides, 'breaker');
  tunings.set(name, { ...tunings.get(name), ...checked });
  recordTuning(runtime, name, checked);
  resetCallSites(runtime);
  for (const entry of breakersOf(runtime, name)) {
    breakerAt(runtime, entry.cell.key, name, entry.agent, { ...entry.settings, ...checked });
  }
}

/** The settings in force for breakers of a name. */
export function settingsOf(gear: Switchgear, name: string): BreakerSettings {
  const runtime = runtimeOf(gear);
  const known =
    breakersOf(runtime, name)[0] ?? callSiteFor(runtime, targetFor(runtime, name, 'tool'), undefined).breaker;
  return known?.settings ?? runtime.settings.circuitBreaker;
}
