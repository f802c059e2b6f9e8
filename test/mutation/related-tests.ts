/** Which tests look at a file: first those beside it, then those of the whole that reach it through their imports. */

import { posix } from 'node:path';
import { codeOf, listFiles, readText } from '../harness/source.ts';

/** Properties, simulations and fuzzing are left out: what only chance finds wants a plain test beside it. */
const wide = /^test\/(?:core|guard|policy\/table|stores\/(?:cells|sqlite)|clauses|traps|issues)\/.*\.test\.ts$/;
/** Tests that start processes or walk through every interleaving are too slow to run once per mutant. */
const slow = /\/(?:interleavings|budgets\/(?!allowance)[\w-]+)\.test\.ts$/;

export interface RelatedTests {
  readonly near: readonly string[];
  readonly far: readonly string[];
}

export function findRelatedTests(file: string): RelatedTests {
  const folder = posix.dirname(file).replace(/^src/, 'test');
  const name = posix.basename(file, '.ts');
  const tests = listFiles().filter((path) => wide.test(path) && !slow.test(path));
  const near = tests.filter((path) => {
    if (posix.dirname(path) !== folder) return false;
    // In a folder of its own a mechanism is tested as a whole.
    const other = posix.basename(path, '.test.ts');
    return folder !== 'test/core' || name.startsWith(other) || other.startsWith(name);
  });
  return { near, far: tests.filter((path) => !near.includes(path) && listReached(path).has(file)) };
}

const reachedFiles = new Map<string, ReadonlySet<string>>();

/** Every file that a file imports, and what those import. */
function listReached(path: string): ReadonlySet<string> {
  const before = reachedFiles.get(path);
  if (before !== undefined) return before;
  const imports = new Set<string>();
  const waiting = [path];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    // Any relative path in quotes: what is loaded only when it is needed counts, too.
    for (const [, specifier = ''] of codeOf(readText(next), 'text').matchAll(/'(\.{1,2}\/[^'\n]+\.ts)'/g)) {
      const imported = posix.join(posix.dirname(next), specifier);
      if (imports.has(imported)) continue;
      imports.add(imported);
      waiting.push(imported);
    }
  }
  reachedFiles.set(path, imports);
  return imports;
}
