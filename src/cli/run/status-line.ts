/** How far a run is, in one line: calls 12 of 50 · $0.31 of $50.00 · 02:13 of 30:00 · idle 3 s. */

import { secsMax } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Switchgear, Task, TaskSnapshot } from '../../guard/api.ts';
import { captureTask } from '../../guard/tasks/carried.ts';
import { formatCount } from '../terminal-table.ts';

/** The counters of a task against its limits. */
export function countersLine(task: TaskSnapshot, limits: TaskSettings): string {
  const { toolCalls, spendCents, tokens, durationMs } = task;
  return [
    `calls ${toolCalls} of ${limits.maxToolCalls}`,
    `${dollars(spendCents)} of ${dollars(limits.maxSpendCents)}`,
    ...(limits.maxTokens === undefined ? [] : [`tokens ${tokens} of ${limits.maxTokens}`]),
    clockTime(durationMs / 1000) + (limits.maxDurationSecs < secsMax ? ` of ${clockTime(limits.maxDurationSecs)}` : ''),
  ].join(' · ');
}

export interface Tally {
  line(task: Task): string;
}

/** Keeps in mind which breakers are open and how many subagents work: a look at everything would cost more. */
export function runTally(gear: Switchgear): Tally {
  const open = new Map<string, string>();
  const below = new Set<string>();
  gear.on((entry) => {
    switch (entry.type) {
      case 'breaker-opened':
        open.set(entry.key, entry.name);
        return;
      case 'breaker-closed':
      case 'breaker-reset':
        open.delete(entry.key);
        return;
      case 'task-started':
        if (entry.parent !== undefined && entry.task !== undefined) below.add(entry.task);
        return;
      case 'task-ended':
        if (entry.task !== undefined) below.delete(entry.task);
        return;
      default:
        return;
    }
  });
  return {
    line(task) {
      const { limits } = captureTask(gear, task.id) ?? {};
      if (limits === undefined) return '';
      const now = task.snapshot();
      return [
        countersLine(now, limits),
        `idle ${Math.floor(now.idleMs / 1000)} s`,
        ...(below.size > 0 ? [formatCount(below.size, 'subagent')] : []),
        open.size === 0 ? 'breakers closed' : `open: ${[...open.values()].join(', ')}`,
      ].join(' · ');
    },
  };
}

function dollars(cents: number): string {
  return `$${(cents / 100).toFixed(2)}`;
}

/** `02:13`, `1:00:00`. */
function clockTime(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (many: number) => String(many).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${two(minutes)}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}
