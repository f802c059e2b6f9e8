/** A runnable of LangChain whose every way to a call leads through its guarded `invoke` and `stream`. */

import { overrideMethods } from '../host/override-methods.ts';

type Method = (...args: readonly unknown[]) => unknown;

/** The methods of a runnable that need guarding. */
export interface GuardedMethods {
  invoke(input: unknown, config?: unknown): Promise<unknown>;
  stream?(input: unknown, config?: unknown): Promise<unknown>;
  readonly [key: string]: unknown;
}

/** Methods that call other methods of the same runnable, or make a runnable that does. */
const callers: readonly string[] = [
  'assign',
  'asTool',
  'batch',
  'pick',
  'pipe',
  'stream',
  'streamEvents',
  'streamLog',
  'streamV2',
  'transform',
  'withConfig',
  'withFallbacks',
  'withListeners',
  'withRetry',
  'withStructuredOutput',
  '_streamChatModelEvents',
  '_streamEventsV1',
  '_streamEventsV2',
  '_streamLog',
];

/**
 * Returns the runnable with guarded methods. The methods that make use of them, such as `pipe`, `batch` and
 * `transform`, run on the guarded runnable; all others on the runnable itself.
 */
export function guardRunnable<T extends object>(runnable: T, methods: GuardedMethods): T {
  async function* streamIterator(input: unknown, config?: unknown): AsyncGenerator<unknown> {
    if (methods.stream === undefined) yield await methods.invoke(input, config);
    else yield* (await methods.stream(input, config)) as AsyncIterable<unknown>;
  }
  const onGuarded: Record<string, Method> = {};
  for (const key of callers) {
    const method = findMethod(runnable, key);
    if (method !== undefined) onGuarded[key] = (...args) => Reflect.apply(method, guarded, args);
  }
  const guarded = overrideMethods(runnable, { ...onGuarded, _streamIterator: streamIterator, ...methods });
  return guarded;
}

/**
 * The implementation of a method. A binding, which passes its calls to the runnable inside it, and the native events
 * of a chat model would go past the guarded methods: they get the implementation of the base class.
 */
function findMethod(runnable: object, key: string): Method | undefined {
  const own: unknown = Reflect.get(runnable, key);
  if (typeof own !== 'function') return undefined;
  if (!('bound' in runnable) && key !== '_streamChatModelEvents') return own as Method;
  let base = own;
  for (let level = Object.getPrototypeOf(runnable); level !== null; level = Object.getPrototypeOf(level)) {
    if (Object.hasOwn(level, key)) base = Reflect.get(level, key);
  }
  return base as Method;
}
