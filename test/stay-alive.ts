/** Keeps a process alive until its tests end: timers of the library do not, nor does the test runner of Node 22. */

import { after } from 'node:test';

/** For a file whose tests wait for nothing else; called once, before its tests. */
export function stayAlive(): void {
  const timer = setInterval(() => undefined, 1_000_000_000);
  after(() => clearInterval(timer));
}
