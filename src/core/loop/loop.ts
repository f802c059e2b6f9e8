/** Tells a loop from work: an agent that repeats its words, its calls or its failures is told, refused, halted. */

import type { Action } from '../action.ts';
import type { Control } from '../control.ts';
import { loopHabitsMax } from '../limits.ts';
import { isMatch } from '../rules/glob.ts';
import type { LoopSettings } from '../settings.ts';
import { allow, type Counters, type Stop, type Verdict } from '../verdict.ts';
import { forget, remember, timesRefused } from './refused.ts';
import { countOutput, endRow } from './row.ts';
import { initialLoop, type LoopState, type Memory, memoryOf } from './state.ts';
import { isRepeat, isRipe, openText, openTurn, pointsOf, settleCall } from './turns.ts';
import type { Habit } from './weigh.ts';

/** What the agent is told before anything is refused. */
export interface Suspicion {
  readonly counters: Counters;
}

export function loop(settings: LoopSettings): Control<LoopState> {
  const habitOf = habits(settings.tools);

  function say(kind: Stop['kind'], code: 'tool_loop' | 'output_loop', counters: Counters): Stop {
    return { kind, code, control: 'loop', counters };
  }

  return {
    name: 'loop',
    scope: 'task',
    initial: initialLoop,

    judge(state, { action, atMs }) {
      const times = timesRefused(state.refused, action, atMs);
      if (times >= settings.refusedRepeats) {
        return say('halt', 'tool_loop', { name: action.name, actual: times + 1, limit: settings.refusedRepeats });
      }
      const { memory } = state;
      if (memory === null || memory.seen.length === 0) return allow;
      const call = keyOf(action);
      if (call === 0 || habitOf(action.name) === 'off' || !isRepeat(memory, call, settings)) return allow;
      const isFailing = !memory.seen.findLast((other) => other.call === call)!.ok;
      if (!isFailing && pointsOf(memory) < settings.refusePoints) return allow;
      return say('deny', 'tool_loop', countersOf(memory, settings.haltPoints, action.name));
    },

    apply(state, event) {
      switch (event.type) {
        case 'action-decided': {
          const { action, verdict, atMs } = event;
          if (verdict.kind === 'wait' || verdict.kind === 'ask') return state;
          const call = keyOf(action);
          if (verdict.kind === 'allow') {
            if (state.refused.length > 0) forget(state.refused, action.fingerprint);
            if (state.memory !== null) openTurn(state.memory);
            return state;
          }
          remember(state.refused, action, verdict.retryAtMs ?? -1, atMs);
          if (call !== 0) settleRefused(state, action, call, atMs);
          return state;
        }
        case 'action-settled': {
          const { action } = event.permit;
          const call = keyOf(action);
          if (event.result === undefined || call === 0 || action.kind !== 'tool') return state;
          const { result: mark, likeness = 0, atMs } = event;
          const { name } = action;
          const settled = { name, call, mark, likeness, reached: true, atMs };
          settleCall(state, settled, settings, habitOf(name));
          return state;
        }
        case 'call-observed': {
          const memory = memoryOf(state);
          if (event.call !== undefined && isFailingRepeat(memory, event.call)) memory.over = event.name;
          openTurn(memory);
          return state;
        }
        case 'result-observed': {
          const { name, call, result: mark, likeness = 0, atMs } = event;
          settleCall(state, { name, call, mark, likeness, reached: true, atMs }, settings, habitOf(name));
          return state;
        }
        case 'text-observed':
          countOutput(state, event, settings);
          openText(state, event.recurs === true, event.calls, settings);
          return state;
        case 'user-observed':
          endRow(state); // Genuinely new words from a person: what follows is a new piece of work.
          state.refused = [];
          state.memory = null;
          return state;
        case 'progress-observed':
          endRow(state);
          if (state.memory !== null) state.memory.turns = [];
          return state;
        default:
          return state; // Nothing else says that the agent repeats itself.
      }
    },

    check(state): Verdict {
      if (state.alike >= settings.windowSize - 1) {
        return say('halt', 'output_loop', {
          actual: state.alike + 1,
          limit: settings.windowSize,
          similarity: state.likeness,
          threshold: settings.similarityJaccardThreshold,
        });
      }
      const { memory } = state;
      if (memory === null) return allow;
      if (memory.over !== null) return say('halt', 'tool_loop', countersOf(memory, settings.haltPoints, memory.over));
      if (memory.turns.length === 0 || pointsOf(memory) < settings.haltPoints || !isRipe(memory, settings))
        return allow;
      return say('halt', 'tool_loop', countersOf(memory, settings.haltPoints));
    },

    /** Said once: it is due again when the agent had moved on in between. */
    hint({ memory }): Suspicion | undefined {
      if (memory === null || memory.turns.length === 0) return undefined;
      if (pointsOf(memory) < settings.notePoints || !isRipe(memory, settings)) return undefined;
      return { counters: countersOf(memory, settings.haltPoints) };
    },
  };

  /** A refusal is one more occurrence of the call and result it repeats, so that it never hides a loop (R29). */
  function settleRefused(state: LoopState, action: Action, call: number, atMs: number): void {
    const memory = memoryOf(state);
    const last = memory.seen.findLast((other) => other.call === call);
    openTurn(memory);
    const mark = last ?? { ok: false, exact: denied, loose: denied, total: 0, length: 0 };
    const { name } = action;
    settleCall(state, { name, call, mark, likeness: 0, reached: false, atMs }, settings, habitOf(name));
  }

  function isFailingRepeat(memory: Memory, call: number): boolean {
    return memory.seen.findLast((other) => other.call === call)?.ok === false && isRepeat(memory, call, settings);
  }
}

/** The mark of a refusal. */
const denied = 0x64656e79;

/** Equal for calls that differ in volatile fields alone. */
function keyOf({ call, fingerprint }: Action): number {
  return call ?? fingerprint;
}

/** What the last turn that repeats something repeats. */
function countersOf({ turns }: Memory, limit: number, name?: string): Counters {
  const turn = turns.findLast(({ points }) => points > 0);
  const { evidence = 'same_error', times = 1, of = 1, secs = 0 } = turn ?? {};
  let actual = 0;
  for (const { points } of turns) actual += points;
  return { name: name ?? turn?.name ?? '', evidence, times, of, secs, actual, limit };
}

/** The habit of a tool by its name, looked up once per name. */
function habits(tools: LoopSettings['tools']): (name: string) => Habit | undefined {
  const patterns = Object.entries(tools);
  if (patterns.length === 0) return () => undefined;
  const known = new Map<string, Habit | undefined>();
  return (name) => {
    if (known.has(name)) return known.get(name);
    if (known.size >= loopHabitsMax) known.clear();
    const habit = patterns.findLast(([pattern]) => isMatch(pattern, name))?.[1];
    known.set(name, habit);
    return habit;
  };
}
