/**
 * Replays a journal of level `refusals`: admitted calls are not in it, so trips and halts are judged by their counters.
 */

import { stopOverBudget } from '../controls/budget/joint-budget.ts';
import { findCode } from '../controls/registry.ts';
import type { Entry } from '../event.ts';
import type { BreakerSettings, Settings, TaskSettings } from '../settings.ts';
import type { Stop } from '../verdict.ts';
import type { ReplayDifference } from './replay.ts';
import { agentInKey, breakerSettingsResolver, type ReplayOptions } from './state.ts';

/** The known state of a breaker: whether it refuses, and until when; -1 = manual recovery, without a time. */
interface KnownBreaker {
  refuses: 'no' | 'until' | 'probes';
  untilMs: number;
  held: boolean;
  counted: number;
}

/** Replays a journal of level `refusals`. */
export function replayRecords(
  entries: readonly Entry[],
  settings: Settings,
  options: ReplayOptions,
): { readonly decisions: number; readonly differences: readonly ReplayDifference[] } {
  const settingsFor = breakerSettingsResolver(settings, options);
  const tuned = new Map<string, Partial<BreakerSettings>>();
  const limitsOf = new Map<string, TaskSettings>();
  const breakers = new Map<string, KnownBreaker>();
  const differences: ReplayDifference[] = [];
  let decisions = 0;

  function findBreaker(key: string): KnownBreaker {
    const breaker = breakers.get(key) ?? { refuses: 'no', untilMs: 0, held: false, counted: 0 };
    breakers.set(key, breaker);
    return breaker;
  }

  function compare(seq: number, expected: string, repeated: boolean): void {
    decisions++;
    if (!repeated) differences.push({ seq, expected, got: 'none' });
  }

  function applyEntry(entry: Entry): void {
    switch (entry.type) {
      case 'task-started':
        limitsOf.set(entry.task ?? '', entry.limits);
        return;
      case 'task-halted': {
        const limits = limitsOf.get(entry.task ?? '') ?? settings.task;
        const repeated = isHaltRepeated(entry.stop, limits, settings);
        if (entry.cause === undefined && repeated !== undefined) compare(entry.seq, entry.stop.code, repeated);
        return;
      }
      case 'breaker-tuned':
        tuned.set(entry.name, { ...tuned.get(entry.name), ...(entry.overrides as Partial<BreakerSettings>) });
        return;
      case 'failure-counted':
        if (entry.breaker !== undefined) findBreaker(entry.breaker).counted = entry.actual;
        return;
      case 'breaker-opened': {
        const { failureThreshold } = settingsFor(entry.name, agentInKey(entry.key), tuned.get(entry.name));
        const breaker = findBreaker(entry.key);
        if (entry.cause === 'failures') compare(entry.seq, 'trip', breaker.counted >= failureThreshold);
        breaker.refuses = 'until';
        breaker.untilMs = entry.untilMs;
        return;
      }
      case 'breaker-half-opened':
        findBreaker(entry.key).refuses = 'probes';
        return;
      case 'breaker-closed':
      case 'breaker-reset':
        findBreaker(entry.key).refuses = 'no';
        return;
      case 'breaker-held':
      case 'breaker-released':
        findBreaker(entry.key).held = entry.type === 'breaker-held';
        return;
      case 'action-refused': {
        const { verdict } = entry.decision;
        if (verdict.kind === 'allow' || verdict.code !== 'circuit_open' || entry.breaker === undefined) return;
        const { refuses, untilMs, held } = findBreaker(entry.breaker);
        const isOpen = refuses === 'until' && (untilMs < 0 || entry.atMs < untilMs);
        compare(entry.seq, 'deny circuit_open', held || isOpen || refuses === 'probes');
        return;
      }
      default:
        return; // Neither a trip nor a halt.
    }
  }

  for (const entry of entries) applyEntry(entry);
  return { decisions, differences };
}

/** Whether the counters of a halt exceed the limits in force; undefined if counters do not decide. */
function isHaltRepeated({ code, counters }: Stop, limits: TaskSettings, settings: Settings): boolean | undefined {
  const { actual, scope } = counters;
  if (typeof actual !== 'number') return undefined;
  if (scope !== undefined) {
    const matching = settings.budgets.filter(
      (each) => each.scope === scope && stopOverBudget(each, actual).code === code,
    );
    return matching.some(({ limit }) => actual > limit);
  }
  return findCode(code).isExceeded?.(actual, { ...settings, task: limits }, counters);
}
