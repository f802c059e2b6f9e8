/** What was told of late, by id: the last ones of a bounded number, and at least half of it. */

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
