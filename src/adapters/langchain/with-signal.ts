/** A model or tool of LangChain whose calls also end with the signal of their guarded call. */

import { joinSignals } from '../../guard/entries/host-call.ts';
import { overrideMethods } from '../host/override-methods.ts';
import type { Invokable, LangChainRuntime } from './shapes.ts';

/** Receives the text that a model streams while its call is out, which is known even if the call breaks off. */
export type OnText = (text: string) => void;

/** Returns the model or tool with the signal in the configuration of its calls, also after `bindTools`. */
export function withSignal<T extends Invokable & object>(thing: T, signal: AbortSignal, onText?: OnText): T {
  const derive =
    (key: string) =>
    (...args: unknown[]) => {
      const derived: unknown = Reflect.apply(Reflect.get(thing, key) as (...params: unknown[]) => unknown, thing, args);
      const isInvokable = typeof (derived as Invokable | null)?.invoke === 'function';
      return isInvokable ? withSignal(derived as Invokable & object, signal, onText) : derived;
    };
  const methods = {
    invoke: (input: unknown, config?: unknown) => thing.invoke(input, addSignalTo(config, signal, onText)),
    ...('bindTools' in thing && { bindTools: derive('bindTools') }),
    ...('withStructuredOutput' in thing && { withStructuredOutput: derive('withStructuredOutput') }),
  };
  return overrideMethods(thing, methods);
}

/**
 * A configuration with the signal joined to its own, and a callback for streamed text. A node may leave out its
 * configuration, which LangChain then takes from the async context: its signal and callbacks stay in force.
 */
export function addSignalTo(config: unknown, signal: AbortSignal, onText?: OnText): object {
  const inherited = findInheritedConfig();
  const { signal: ownSignal = inherited?.signal, callbacks = inherited?.callbacks } = (config ?? {}) as CallConfig;
  const handler = { name: 'switchgear', awaitHandlers: true, handleLLMNewToken: onText };
  return {
    ...(config as object),
    signal: joinSignals(signal, ownSignal),
    ...(onText && { callbacks: addHandler(callbacks, handler) }),
  };
}

interface CallConfig extends LangChainRuntime {
  readonly callbacks?: unknown;
}

/** The configuration of the runnable around this code. LangChain keeps it under global symbols, for all its copies. */
function findInheritedConfig(): CallConfig | undefined {
  const context = Reflect.get(globalThis, Symbol.for('ls:tracing_async_local_storage')) as
    | { getStore?(): { readonly extra?: Readonly<Record<symbol, CallConfig>> } | undefined }
    | undefined;
  return context?.getStore?.()?.extra?.[Symbol.for('lc:child_config')];
}

/** The callbacks of a configuration with one more: a list, or a manager, which is copied with it. */
function addHandler(callbacks: unknown, handler: object): unknown {
  if (callbacks === undefined || callbacks === null) return [handler];
  if (Array.isArray(callbacks)) return [...callbacks, handler];
  const manager = callbacks as { copy?(handlers: readonly object[]): unknown };
  return typeof manager.copy === 'function' ? manager.copy([handler]) : callbacks;
}
