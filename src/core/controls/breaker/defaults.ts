/** The default breaker settings: 5 failures in a row open it, 60 s until a probe, 2 successful probes close it. */

import { readDefaults } from '../../declare/read-defaults.ts';
import type { BreakerSettings } from '../../settings.ts';
import { breakerFields } from './fields.ts';

/** The default breaker settings. */
export const defaultBreaker = Object.freeze(readDefaults(breakerFields)) as BreakerSettings;
