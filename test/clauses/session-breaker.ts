/** A session breaker on a clock that stands still, for the clauses about tasks. */

import {
  type BreakerConfig,
  type HaltReason,
  SessionBreaker,
  type SessionBreakerOptions,
  type SessionEvent,
} from '../../src/compat/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

export function session(config: Partial<BreakerConfig> = {}, options: SessionBreakerOptions = {}) {
  const clock = simulatedClock();
  const breaker = new SessionBreaker(config, { clock, env: {}, log: 'silent', ...options });
  const beat = (taskId: string, phase: string) => breaker.observe({ type: '[heartbeat]', taskId, phase });
  /** Tells the same thing several times; the last answer. */
  const repeat = (times: number, event: SessionEvent): HaltReason | null => {
    let halt: HaltReason | null = null;
    for (let i = 0; i < times; i++) halt = breaker.observe(event);
    return halt;
  };
  /** The answers to one output after another. */
  const say = (...texts: readonly string[]) => texts.map((text) => breaker.observe({ type: 'assistant', text }));
  const of = (taskId: string) => breaker.snapshot().tasks.find((task) => task.taskId === taskId);
  return { breaker, clock, beat, repeat, say, of };
}

/** A session in which one task is active. */
export function active(config: Partial<BreakerConfig> = {}, options: SessionBreakerOptions = {}) {
  const made = session(config, options);
  made.beat('research', 'starting');
  return made;
}
