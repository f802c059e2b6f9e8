/** Formats the status line of a run: calls 12 of 50 · $0.31 of $50.00 · 02:13 of 30:00 · idle 3 s. */

import { secsMax } from '../../core/limits.ts';
import { formatCents, formatUsd, formatUse } from '../../core/quote.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Switchgear, Task, TaskSnapshot } from '../../guard/api.ts';
import { captureTask } from '../../guard/internal.ts';
import { formatCount } from '../../operator/format.ts';

/** The counters of a task against its limits. */
export function formatCounters(task: TaskSnapshot, limits: TaskSettings): string {
  const { toolCalls, spendUsd, tokens, durationMs } = task;
  const { maxDurationSecs } = limits;
  const secs = durationMs / 1000;
  return [
    `calls ${formatUse(toolCalls, limits.maxToolCalls)}`,
    `${formatUsd(spendUsd)} of ${formatCents(limits.maxSpendCents)}`,
    ...(limits.maxTokens === undefined ? [] : [`tokens ${tokens} of ${limits.maxTokens}`]),
    // A time that is over its limit is shown as more than the limit.
    formatClockTime(secs > maxDurationSecs ? Math.max(secs, maxDurationSecs + 1) : secs) +
      (maxDurationSecs < secsMax ? ` of ${formatClockTime(maxDurationSecs)}` : ''),
  ].join(' · ');
}

export interface StatusLine {
  format(task: Task): string;
}

/**
 * Creates a status line. It tracks open breakers and running subagents by entries, which is cheaper than a snapshot.
 */
export function createStatusLine(gear: Switchgear): StatusLine {
  const openBreakers = new Map<string, string>();
  const subagents = new Set<string>();
  gear.onEntry((entry) => {
    switch (entry.type) {
      case 'breaker-opened':
        openBreakers.set(entry.key, entry.name);
        return;
      case 'breaker-closed':
      case 'breaker-reset':
        openBreakers.delete(entry.key);
        return;
      case 'task-started':
        if (entry.parent !== undefined && entry.task !== undefined) subagents.add(entry.task);
        return;
      case 'task-ended':
        if (entry.task !== undefined) subagents.delete(entry.task);
        return;
      default:
        return;
    }
  });
  return {
    format(task) {
      const { limits } = captureTask(gear, task.id) ?? {};
      if (limits === undefined) return '';
      const snapshot = task.snapshot();
      return [
        formatCounters(snapshot, limits),
        `idle ${Math.floor(snapshot.idleMs / 1000)} s`,
        ...(subagents.size > 0 ? [formatCount(subagents.size, 'subagent')] : []),
        openBreakers.size === 0 ? 'breakers closed' : `open: ${[...openBreakers.values()].join(', ')}`,
      ].join(' · ');
    },
  };
}

/** `02:13`, `1:00:00`. */
function formatClockTime(seconds: number): string {
  const whole = Math.floor(seconds);
  const padTwo = (value: number) => String(value).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${padTwo(minutes)}:${padTwo(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${padTwo(minutes % 60)}:${padTwo(whole % 60)}`;
}
