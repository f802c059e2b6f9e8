/** Creates ids that no other process has. */

/** Returns a unique id. Uses `Math.random`: ids are not secret, and a hook has no time to load `node:crypto`. */
export function uniqueId(): string {
  const part = () => Math.random().toString(36).slice(2, 10).padEnd(8, '0');
  return `${process.pid.toString(36)}-${part()}${part()}`;
}
