/** What is said on stderr: trips and halts, and single failures where asked for. */

import { failureLines, tripLine } from '../core/delegation-messages.ts';
import type { Entry } from '../core/event.ts';

export type LogLevel = 'silent' | 'trips' | 'info';

/** The line of an entry at a level, or undefined. */
export function lineOf(entry: Entry, level: LogLevel): string | undefined {
  if (level === 'silent') return undefined;
  return tripText(entry) ?? (level === 'info' ? infoText(entry) : undefined);
}

function tripText(entry: Entry): string | undefined {
  switch (entry.type) {
    case 'breaker-opened':
      return `🔴 switchgear: ${entry.name} tripped (${entry.cause}); calls are refused${until(entry.untilMs, entry.atMs)}`;
    case 'task-halted':
      if (entry.cause !== undefined) return undefined; // It ended with the task above, which has said so.
      if (entry.stop.code === 'delegation_limit') {
        const { worker, actual, limit } = entry.stop.counters;
        return tripLine(String(worker), Number(actual), Number(limit));
      }
      return `🛑 switchgear: task ${entry.task} of ${entry.agent} ${entry.enforced ? 'halted' : 'would have been halted'}: ${entry.message}`;
    case 'storm-tripped':
      return `⚠️ switchgear: watcher ${entry.name} paused after ${entry.counters.actual} events; restart it by hand`;
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

function infoText(entry: Entry): string | undefined {
  switch (entry.type) {
    case 'delegation-returned':
      return entry.failed ? failureLines(entry.worker, entry.actual, entry.limit, entry.reason).join('\n') : undefined;
    case 'failure-counted':
      return `⚠️ switchgear: ${entry.name} failed (${entry.actual} of ${entry.limit}): ${entry.error}`;
    case 'action-refused':
      return `switchgear: ${entry.action.name} refused: ${entry.message}`;
    case 'breaker-half-opened':
    case 'breaker-closed':
    case 'breaker-reset':
    case 'breaker-held':
    case 'breaker-released':
    case 'breaker-shadowed':
      return `switchgear: ${entry.name}: ${entry.type}`;
    case 'notice':
      return `switchgear: ${entry.message}`;
    case 'task-missing':
      return `switchgear: ${entry.name} is called outside any task: only its breaker, timeout and rules apply`;
    default:
      return undefined;
  }
}

function until(untilMs: number, atMs: number): string {
  return untilMs < 0 ? ' until a manual reset' : ` for ${Math.ceil((untilMs - atMs) / 1000)}s`;
}
