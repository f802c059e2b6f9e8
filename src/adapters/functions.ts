/**
 * The adapter of plain functions, for hand-written loops: the types stay the same, and a refusal is thrown as an
 * error.
 */

import { quoteValue } from '../core/quote.ts';
import { isRefused, refusalOf } from '../core/refusal.ts';
import { isThenable } from '../core/thenable.ts';
import type { AnyFunction, Switchgear, Task } from '../guard/api.ts';
import { defaultSwitchgear } from '../guard/create-switchgear.ts';
import { copyProperties, invalid } from '../guard/internal.ts';
import { hasMethod, isClass, isLiteral, unknownThing } from './host/check-thing.ts';
import { guardOnce, isGuardedBy, reportGuarded } from './host/guard-once.ts';
import { checkFallbacks, type FallbackOptions, fallbackOf, makeRefusedError } from './host/host-run.ts';

/** Options of `protect` for plain functions. */
export interface FunctionsOptions extends FallbackOptions {
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
  /**
   * Whether the functions return promises, as in the options of `gear.guard`: then a refusal is always a rejection,
   * also before the first result.
   * @default true for a function that is declared `async`, else learnt from the first result
   */
  readonly async?: boolean;
}

/**
 * A function by its own name, or the functions of an object by their keys, guarded. An instance of a class has its
 * methods guarded, also inherited ones; calls between its methods are not counted. Other values stay as they are.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { protect } from 'switchgear/adapters/functions';
 *
 * const gear = createSwitchgear({ agent: 'writer' });
 * const tools = protect({ fetchPage: async (url: string) => (await fetch(url)).text() }, { gear });
 * const page = await tools.fetchPage('https://example.com');
 */
export function protect<T extends object>(functions: T, options: FunctionsOptions = {}): T {
  const { gear = defaultSwitchgear() } = options;
  if (isGuardedBy(functions, gear)) return functions;
  if (Array.isArray(functions)) return functions.map((fn) => protect(fn, options)) as T;
  const kinds = 'a function or an object of functions';
  if (isClass(functions)) throw unknownThing(kinds, functions, 'protect an instance of it');
  if (typeof functions === 'function') {
    const { name } = functions;
    if (name === '') throw invalid('the function has no name: write protect({ name: fn })');
    return guardFunction(gear, options, name, functions as AnyFunction) as T;
  }
  if (typeof functions !== 'object' || functions === null) throw unknownThing(kinds, functions);
  if (hasMethod(functions, 'then')) throw unknownThing(kinds, functions, 'await it first');
  const names = listFunctions(functions);
  if (names.length === 0 && (!isLiteral(functions) || Object.keys(functions).length > 0))
    throw unknownThing(kinds, functions, 'it has no function to guard');
  checkFallbacks(options, names);
  reportGuarded(gear, 'functions', names);
  return isLiteral(functions) ? guardObject(functions, gear, options) : guardInstance(functions, gear, options);
}

/** Methods that the language calls itself. */
const isConversion = (name: string) => name in Object.prototype || name === 'toJSON';

/** The keys of all functions of an object, own or inherited from its classes. */
function listFunctions(object: object): readonly string[] {
  const names = new Set<string>();
  let each: object | null = object;
  while (each !== null && (each === object || Object.getPrototypeOf(each) !== null)) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      if (!isConversion(name) && typeof property.value === 'function') names.add(name);
    }
    each = Object.getPrototypeOf(each);
  }
  return [...names];
}

/** Copies an object of functions. Accessors stay accessors. */
function guardObject<T extends object>(functions: T, gear: Switchgear, options: FunctionsOptions): T {
  const guarded = {};
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(functions))) {
    const { value, enumerable } = property;
    const own = typeof value === 'function' ? { value: guardFunction(gear, options, name, value) } : property;
    Object.defineProperty(guarded, name, { ...property, ...own, configurable: true, enumerable: enumerable ?? false });
  }
  return guarded as T;
}

/** Guards the methods of an instance. They run on the instance itself, because it may have private fields. */
function guardInstance<T extends object>(instance: T, gear: Switchgear, options: FunctionsOptions): T {
  for (const [name, { value, configurable, writable }] of Object.entries(Object.getOwnPropertyDescriptors(instance))) {
    if (typeof value === 'function' && !configurable && !writable)
      throw invalid(`the function ${quoteValue(name)} of a frozen instance cannot be guarded: protect it by itself`);
  }
  const methods = new Map<string, { readonly method: AnyFunction; readonly guarded: AnyFunction }>();
  // A method that returns its instance, as a builder does, must not hand out the unguarded one.
  const hide = (value: unknown) => (value === instance ? proxy : value);
  const guardMethod = (name: string, method: AnyFunction): AnyFunction => {
    const known = methods.get(name);
    if (known?.method === method) return known.guarded;
    const call = guardFunction(gear, options, name, method);
    const guarded = copyProperties(method, (...args) => {
      const value = call.apply(instance, args);
      return isThenable(value) ? Promise.resolve(value).then(hide) : hide(value);
    });
    methods.set(name, { method, guarded });
    return guarded;
  };
  const proxy: T = new Proxy(instance, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function' || key === 'constructor') return value;
      return typeof key === 'symbol' || isConversion(key) ? value.bind(target) : guardMethod(key, value as AnyFunction);
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
  return guardOnce(instance, gear, () => proxy);
}

function guardFunction(gear: Switchgear, options: FunctionsOptions, name: string, fn: AnyFunction): AnyFunction {
  const { task, async } = options;
  return guardOnce(fn, gear, () => {
    const fallback = fallbackOf(options, name);
    const guarded = gear.guard(name, fn, { ...(async !== undefined && { async }), ...(fallback && { fallback }) });
    return copyProperties(fn, function (this: unknown, ...args: unknown[]): unknown {
      const call = () => guarded.apply(this as never, args);
      const value = task === undefined ? call() : task.run(call);
      // A refusal before the first result is a value and a promise: it is thrown at once.
      if (async !== true && (isRefused(value) || !isThenable(value))) return throwIfRefused(value);
      return Promise.resolve(value).then(throwIfRefused);
    });
  });
}

/** The value, unless it is a refusal. */
function throwIfRefused(value: unknown): unknown {
  const refusal = isRefused(value) ? refusalOf(value) : undefined;
  if (refusal !== undefined) throw makeRefusedError(refusal);
  return value;
}
