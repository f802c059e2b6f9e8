/** What the code around a tool says about it: checked, and written down for a replay. */

import { checkPart } from '../core/part.ts';
import type { BreakerSettings } from '../core/settings.ts';
import * as check from './arguments.ts';
import type { GuardOptions } from './front-door.ts';
import type { Target } from './targets.ts';
import type { Works } from './works.ts';

const optionNames = [
  'kind',
  'breaker',
  'timeoutSecs',
  'fallback',
  'classify',
  'healthCheck',
  'worst',
  'usage',
  'async',
];

export function targetOf(works: Works, name: string, given: GuardOptions): Target {
  const { settings } = works;
  check.options('guard options', given, optionNames);
  if (given.kind !== undefined) check.oneOf('kind', given.kind, ['tool', 'model', 'delegation', 'step']);
  for (const part of ['fallback', 'classify', 'healthCheck', 'usage'] as const) {
    if (given[part] !== undefined) check.fn(part, given[part]);
  }
  if (given.worst !== undefined && typeof given.worst !== 'function') checkWorst(given.worst);
  if (given.async !== undefined) check.oneOf('async', given.async, [true, false]);
  const said = given.breaker === undefined ? {} : checkPart(settings.circuitBreaker, given.breaker, 'breaker');
  const timeout =
    given.timeoutSecs === undefined ? {} : { timeoutSecs: timeoutOf(settings.circuitBreaker, given.timeoutSecs) };
  const overrides = { ...said, ...timeout } as Partial<BreakerSettings>;
  const isTuned = Object.keys(overrides).length > 0;
  if (isTuned) noteTuning(works, name, overrides);
  return {
    name: check.name('the name of a tool', name),
    kind: given.kind ?? 'tool',
    overrides: isTuned ? overrides : undefined,
    healthCheck: given.healthCheck,
  };
}

/** Upper bounds that nobody could reserve would leave the limit without them. */
function checkWorst(worst: object): void {
  check.options('worst', worst, ['cents', 'tokens']);
  for (const [part, bound] of Object.entries(worst)) check.amount(part, bound ?? 0);
}

/** No timeout for 0; otherwise seconds like any other setting. */
function timeoutOf(breaker: BreakerSettings, timeoutSecs: number): number | undefined {
  return timeoutSecs === 0 ? undefined : checkPart(breaker, { timeoutSecs }, 'guard options').timeoutSecs;
}

function noteTuning({ notes, clock }: Works, name: string, overrides: object): void {
  notes.write({ type: 'breaker-tuned', name, overrides: { ...overrides } }, {}, clock.nowMs());
}

/** Settings for every breaker of a name, existing and future. */
export function tune(works: Works, name: string, overrides: Readonly<Record<string, unknown>>): void {
  const { tunings, seating, breakers } = works;
  const checked = checkPart(works.settings.circuitBreaker, overrides, 'breaker');
  tunings.set(name, { ...tunings.get(name), ...checked });
  noteTuning(works, name, checked);
  seating.renew();
  for (const entry of breakers.named(name)) {
    const tuned = { ...entry.settings, ...checked } as BreakerSettings;
    breakers.open(entry.key, { ...targetOf(works, name, {}), healthCheck: entry.healthCheck }, entry.agent, tuned);
  }
}

/** The settings that breakers of a name run by. */
export function settingsOf(works: Works, name: string): BreakerSettings {
  const known = works.breakers.named(name)[0]?.settings;
  const made = known ?? works.seating.lane(targetOf(works, name, {}), undefined).breaker?.settings;
  return made ?? works.settings.circuitBreaker;
}
