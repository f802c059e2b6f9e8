/**
 * The adapter of plain functions, for hand-written loops: the types stay the same, and a refusal is thrown as an
 * error.
 */

import { isRefused, refusalOf } from '../core/refusal.ts';
import { isThenable } from '../core/thenable.ts';
import type { AnyFunction, Switchgear, Task } from '../guard/api.ts';
import { defaultSwitchgear } from '../guard/create-switchgear.ts';
import { invalid } from '../guard/internal.ts';
import { guardOnce } from './host/guard-once.ts';
import { makeRefusedError } from './host/host-run.ts';

/** Options of `protect` for plain functions. */
export interface FunctionsOptions {
  /**
   * The gear to use.
   * @default defaultSwitchgear()
   */
  readonly gear?: Switchgear;
  /**
   * The task of the calls.
   * @default the task around the call
   */
  readonly task?: Task;
}

/**
 * A function by its own name, or an object of functions by their keys, guarded; anything else in it stays as it is.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { protect } from 'switchgear/adapters/functions';
 *
 * const gear = createSwitchgear({ agent: 'writer' });
 * const tools = protect({ fetchPage: async (url: string) => (await fetch(url)).text() }, { gear });
 * const page = await tools.fetchPage('https://example.com');
 */
export function protect<T extends object>(functions: T, options: FunctionsOptions = {}): T {
  const { gear = defaultSwitchgear(), task } = options;
  const guarded = (name: string, value: unknown) =>
    typeof value === 'function'
      ? guardOnce(value, gear, () => guardFunction(gear, task, name, value as AnyFunction))
      : value;
  if (typeof functions !== 'function') {
    return Object.fromEntries(Object.entries(functions).map(([name, value]) => [name, guarded(name, value)])) as T;
  }
  const { name } = functions as AnyFunction;
  if (name === '') throw invalid('the function has no name: write protect({ name: fn })');
  return guarded(name, functions) as T;
}

function guardFunction(gear: Switchgear, task: Task | undefined, name: string, fn: AnyFunction): AnyFunction {
  const guarded = gear.guard(name, fn);
  return function (this: unknown, ...args: unknown[]): unknown {
    const call = () => guarded.apply(this as never, args);
    const value = task === undefined ? call() : task.run(call);
    return isThenable(value) ? Promise.resolve(value).then(throwIfRefused) : throwIfRefused(value);
  };
}

/** The value, unless it is a refusal. */
function throwIfRefused(value: unknown): unknown {
  const refusal = isRefused(value) ? refusalOf(value) : undefined;
  if (refusal !== undefined) throw makeRefusedError(refusal);
  return value;
}
