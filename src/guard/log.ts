/** What is said on stderr: trips and halts, and at `info` every record that has something to say. */

import { failureLines, tripLine } from '../core/delegation-messages.ts';
import type { Entry } from '../core/event.ts';
import type { Counters } from '../core/verdict.ts';

export type LogLevel = 'silent' | 'trips' | 'info';

/** The line of an entry at a level, or undefined. */
export function lineOf(entry: Entry, level: LogLevel): string | undefined {
  if (level === 'silent') return undefined;
  const loud = tripText(entry);
  if (loud !== undefined) return loud;
  return level === 'info' ? infoText(entry) : undefined;
}

function tripText(entry: Entry): string | undefined {
  switch (entry.type) {
    case 'breaker-opened':
      return `🔴 switchgear: ${entry.name} tripped (${entry.cause}); calls are refused ${forHowLong(entry)}`;
    case 'task-halted': {
      if (entry.cause !== undefined) return undefined; // It ended with the task above, which has said so.
      const { code, counters } = entry.stop;
      if (code === 'delegation_limit') {
        return tripLine(String(counters.worker), Number(counters.actual), Number(counters.limit));
      }
      const how = entry.enforced ? 'halted' : 'would have been halted';
      return `🛑 switchgear: task ${entry.task} of ${entry.agent} ${how}: ${entry.message}`;
    }
    case 'storm-tripped':
      return `⚠️ switchgear: watcher ${entry.name} ${stormText(entry.counters)}`;
    case 'internal-error':
      return `⚠️ switchgear: internal error in ${entry.where}: ${entry.message}`;
    case 'setting-ignored':
      return `⚠️ switchgear: ${entry.name}=${entry.value} cannot be used; ${entry.used} stays in force`;
    case 'price-unknown':
      return `⚠️ switchgear: no price is known for ${entry.model}; ${entry.assumed}`;
    case 'store-degraded':
    case 'store-recovered':
      return `⚠️ switchgear: ${entry.type}: ${entry.reason}`;
    default:
      return undefined;
  }
}

function stormText({ actual, observed }: Counters): string {
  return observed
    ? `would have been paused after ${actual} events`
    : `paused after ${actual} events; restart it by hand`;
}

function infoText(entry: Entry): string | undefined {
  switch (entry.type) {
    case 'delegation-returned':
      if (!entry.failed) return undefined;
      return failureLines(entry.worker, entry.actual, entry.limit, entry.reason).join('\n');
    case 'failure-counted':
      return `⚠️ switchgear: ${entry.name} failed (${entry.actual} of ${entry.limit}): ${entry.error}`;
    case 'action-refused':
      return `switchgear: ${entry.action.name} refused: ${entry.message}`;
    case 'notice':
      return `switchgear: ${entry.message}`;
    default:
      return 'name' in entry ? `switchgear: ${entry.type}: ${entry.name}` : undefined;
  }
}

function forHowLong({ untilMs, atMs }: Entry & { readonly type: 'breaker-opened' }): string {
  return untilMs < 0 ? 'until a manual reset' : `for ${Math.ceil((untilMs - atMs) / 1000)}s`;
}
