/** The names of a store's keys in Redis, with one hash tag, so that a script can use all of them in a cluster. */

/** The key names of one prefix. */
export interface RedisKeys {
  readonly store: string;
  readonly index: string;
  readonly ends: string;
  readonly journal: string;
  readonly channel: string;
  process(id: string): string;
  /** Returns the key of a cell (`c:`), counter (`s:`) or window of marks (`m:`). */
  part(name: string): string;
}

/** Returns the key names of a prefix. */
export function redisKeys(prefix: string): RedisKeys {
  const tag = `{${prefix}}:`;
  return {
    store: `${tag}store`,
    index: `${tag}index`,
    ends: `${tag}ends`,
    journal: `${tag}journal`,
    channel: `${tag}hints`,
    process: (id) => `${tag}p:${id}`,
    part: (name) => `${tag}${name}`,
  };
}
