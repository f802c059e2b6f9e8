/** Maps and sets with a bounded size. */

/** Returns the value of a key, and creates it if absent. A full map is cleared first. */
export function getOrCreate<K, V>(map: Map<K, V>, key: K, max: number, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    if (map.size >= max) map.clear();
    value = make();
    map.set(key, value);
  }
  return value;
}

/** Makes room for one more item by evicting the oldest. Returns the evicted key. */
export function evictOldest<K>(collection: Map<K, unknown> | Set<K>, max: number): K | undefined {
  if (collection.size < max) return undefined;
  const oldest = collection.keys().next().value!;
  collection.delete(oldest);
  return oldest;
}

/** The latest values by id: at least the last half of `max`, at most `max`. */
export interface RecentMap<V> {
  get(id: string): V | undefined;
  set(id: string, value: V): void;
}

/** Creates a recent map of two alternating maps: dropping a whole map is cheaper than evicting items one by one. */
export function createRecentMap<V>(max: number): RecentMap<V> {
  let current = new Map<string, V>();
  let previous = new Map<string, V>();
  return {
    get: (id) => current.get(id) ?? previous.get(id),
    set(id, value) {
      if (current.size >= max / 2 && !current.has(id)) {
        previous = current;
        current = new Map();
      }
      current.set(id, value);
    },
  };
}
