/** A model or tool of LangChain whose calls also end with the signal of their guarded call. */

import { joinSignals } from '../../guard/entries/host-call.ts';
import { overrideMethods } from '../host/override-methods.ts';
import type { Invokable, LangChainRuntime } from './shapes.ts';

/** Returns the model or tool with the signal in the configuration of its calls, also after `bindTools`. */
export function withSignal<T extends Invokable & object>(thing: T, signal: AbortSignal): T {
  const derive =
    (key: string) =>
    (...args: unknown[]) => {
      const derived: unknown = Reflect.apply(Reflect.get(thing, key) as (...params: unknown[]) => unknown, thing, args);
      const isInvokable = typeof (derived as Invokable | null)?.invoke === 'function';
      return isInvokable ? withSignal(derived as Invokable & object, signal) : derived;
    };
  const methods = {
    invoke: (input: unknown, config?: unknown) => thing.invoke(input, addSignalTo(config, signal)),
    ...('bindTools' in thing && { bindTools: derive('bindTools') }),
    ...('withStructuredOutput' in thing && { withStructuredOutput: derive('withStructuredOutput') }),
  };
  return overrideMethods(thing, methods);
}

/** A configuration with the signal joined to its own. */
export function addSignalTo(config: unknown, signal: AbortSignal): object {
  return { ...(config as object), signal: joinSignals(signal, (config as LangChainRuntime | undefined)?.signal) };
}
