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
