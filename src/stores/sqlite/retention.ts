/** A journal that has grown too big loses its oldest rows: as many as are too much, since one may hold many entries. */

import type { prepareStatements } from './statements.ts';

/** To be called in an open transaction; the last row stays, whatever it holds. */
export function dropOldest(statements: ReturnType<typeof prepareStatements>, excessBytes: number): void {
  let freed = 0;
  let last = 0;
  for (const { seq, bytes } of statements.oldest.iterate()) {
    last = Number(seq);
    freed += Number(bytes);
    if (freed >= excessBytes) break;
  }
  statements.dropUpTo.run(last);
}
