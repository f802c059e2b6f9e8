/** Calls an ability as a step would. */

import type { AbilitySource } from '../../../src/chains/abilities/ability.ts';

/** Finds and runs an ability; a name that nobody knows is an error. */
export async function call(
  source: AbilitySource,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<unknown> {
  const ability = await source.find(name);
  if (!ability) throw new Error(`nobody knows ${name}`);
  return ability.run({ name, args, signal, attemptKey: 'run-1/step-1' });
}

/** Whether a process is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits for processes to be gone: the kernel takes its moment. */
export async function gone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 200 && isAlive(pid); tries++) await new Promise((wake) => setTimeout(wake, 25));
  return !isAlive(pid);
}
