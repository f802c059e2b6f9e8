/** Ids of conversations. They become parts of command lines, paths and keys, so they contain no other characters. */

/** Returns a valid id of a conversation or subagent; undefined for anything else. */
export function asSessionId(value: unknown): string | undefined {
  return typeof value === 'string' && /^\w[\w-]{0,127}$/.test(value) ? value : undefined;
}
