/** A name that no other process has. */

/** To load crypto for it takes longer than a hook may; nothing is secret about it. */
export function uniqueId(): string {
  const part = () => Math.random().toString(36).slice(2, 10).padEnd(8, '0');
  return `${process.pid.toString(36)}-${part()}${part()}`;
}
