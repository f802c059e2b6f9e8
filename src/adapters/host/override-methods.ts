/** Replaces some methods of a framework's object; all other members and the type stay the same. */

/** Other methods are called on the object itself, because it may have private fields. */
export function overrideMethods<T extends object>(thing: T, methods: Readonly<Record<PropertyKey, unknown>>): T {
  return new Proxy(thing, {
    get(target, key) {
      if (Object.hasOwn(methods, key)) return methods[key];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' && key !== 'constructor' ? value.bind(target) : value;
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
}
