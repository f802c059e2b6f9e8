/** The names of a store's keys in Redis: one tag for all, so that a deal can be one step in a cluster, too. */

export interface RedisKeys {
  readonly store: string;
  readonly index: string;
  readonly ends: string;
  readonly journal: string;
  readonly channel: string;
  process(id: string): string;
  /** The key of a cell (`c:`), sum (`s:`) or window of marks (`m:`). */
  part(name: string): string;
}

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
