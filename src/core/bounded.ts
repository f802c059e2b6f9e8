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

/** What would be lost with the state of a key: nothing, a part, or a limit that was reached. */
export type Weight = 0 | 1 | 2;

/** A key to forget, and what is lost with it. */
export interface ForgottenKey {
  readonly key: string;
  readonly weight: Weight;
}

/** Keys whose states are forgotten in order: empty states first, then the oldest in use, reached limits last. */
export interface WeighedKeys {
  has(key: string): boolean;
  /** Adds a key. Returns the key to forget, if there are too many. */
  add(key: string, weigh: (key: string) => Weight): ForgottenKey | undefined;
  delete(key: string): void;
}

/**
 * Creates weighed keys. The last `newMax` keys are not weighed: their states may be in use and still be empty. Of the
 * older ones, `keptMax` with a state that is not empty are kept. Each key is weighed when its turn comes.
 */
export function createWeighedKeys(newMax: number, keptMax: number): WeighedKeys {
  const recent = new Set<string>();
  const used = new Set<string>();
  const reached = new Set<string>();

  /** Forgets the oldest key in use whose limit is not reached, else the oldest of all. */
  function forgetKept(weigh: (key: string) => Weight): ForgottenKey {
    for (const key of used) {
      used.delete(key);
      const weight = weigh(key);
      if (weight < 2) return { key, weight };
      reached.add(key);
    }
    return { key: evictOldest(reached, 0)!, weight: 2 };
  }

  return {
    has: (key) => recent.has(key) || used.has(key) || reached.has(key),
    add(key, weigh) {
      if (this.has(key)) return undefined;
      recent.add(key);
      const oldest = evictOldest(recent, newMax + 1);
      if (oldest === undefined) return undefined;
      const weight = weigh(oldest);
      if (weight === 0) return { key: oldest, weight };
      (weight === 2 ? reached : used).add(oldest);
      return used.size + reached.size > keptMax ? forgetKept(weigh) : undefined;
    },
    delete(key) {
      for (const keys of [recent, used, reached]) keys.delete(key);
    },
  };
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
