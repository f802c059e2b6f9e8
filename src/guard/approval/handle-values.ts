/** Tells data from handles: streams, promises, emitters and the like, whose state changes by itself or is hidden. */

const handleMethods = ['then', 'pipe', 'getReader', Symbol.asyncIterator, Symbol.dispose, Symbol.asyncDispose] as const;

/** Whether an instance of a class is a handle. May throw on a hostile proxy. */
export function isHandle(value: object): boolean {
  const { EventEmitter } = process.getBuiltinModule('node:events');
  if (value instanceof EventEmitter || value instanceof EventTarget) return true;
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return false;
  if (handleMethods.some((name) => name !== undefined && name in prototype)) return true;
  const made: unknown = Reflect.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  // The state of a class in native code is in no property; errors keep theirs in properties.
  const isNative =
    typeof made === 'function' && /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(made));
  return isNative && !(value instanceof Error);
}
