/** How far a run is, in one line: calls 12 of 50 · $0.31 of $50.00 · 02:13 of 30:00 · idle 3 s. */

import type { TaskSettings } from '../core/settings.ts';
import { carriedFrom } from '../guard/carried.ts';
import type { Switchgear, TaskSnapshot } from '../guard/front-door.ts';
import { count } from './sheet.ts';

/** The counters of a task against its limits. */
export function countersLine(task: TaskSnapshot, limits: TaskSettings): string {
  const { toolCalls, spendCents, tokens, durationMs } = task;
  return [
    `calls ${toolCalls} of ${limits.maxToolCalls}`,
    `${dollars(spendCents)} of ${dollars(limits.maxSpendCents)}`,
    ...(limits.maxTokens === undefined ? [] : [`tokens ${tokens} of ${limits.maxTokens}`]),
    `${clockTime(durationMs / 1000)} of ${clockTime(limits.maxDurationSecs)}`,
  ].join(' · ');
}

export function statusLine(gear: Switchgear, id: string): string {
  const { tasks, breakers } = gear.snapshot();
  const task = tasks.find((each) => each.id === id);
  const { limits } = carriedFrom(gear, id) ?? {};
  if (task === undefined || limits === undefined) return '';
  const below = tasks.length - 1;
  const open = breakers.filter(({ state }) => state !== 'CLOSED');
  return [
    countersLine(task, limits),
    `idle ${Math.floor(task.idleMs / 1000)} s`,
    ...(below > 0 ? [count(below, 'subagent')] : []),
    open.length === 0 ? 'breakers closed' : `open: ${open.map(({ name }) => name).join(', ')}`,
  ].join(' · ');
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
