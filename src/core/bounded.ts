/** Collections that stay within their bounds. */

/** The value of a key, made where there is none; a full map starts over. */
export function remembered<K, V>(map: Map<K, V>, key: K, max: number, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    if (map.size >= max) map.clear();
    value = make();
    map.set(key, value);
  }
  return value;
}

/** Makes room for one more: the oldest goes. Handed back is what went. */
export function makeRoom<K>(kept: Map<K, unknown> | Set<K>, max: number): K | undefined {
  if (kept.size < max) return undefined;
  const oldest = kept.keys().next().value!;
  kept.delete(oldest);
  return oldest;
}

/** The latest values by id: at least the last half of `max`, at most `max`. */
export interface Recent<V> {
  get(id: string): V | undefined;
  set(id: string, value: V): void;
}

/** Two maps that take turns: forgetting costs nothing, where taking out the oldest one by one would. */
export function recent<V>(max: number): Recent<V> {
  let now = new Map<string, V>();
  let before = new Map<string, V>();
  return {
    get: (id) => now.get(id) ?? before.get(id),
    set(id, value) {
      if (now.size >= max / 2 && !now.has(id)) {
        before = now;
        now = new Map();
      }
      now.set(id, value);
    },
  };
}
