/** Which tests look at a file: first those beside it, then those of the whole that reach it through their imports. */

import { posix } from 'node:path';
import { codeOf, filesUnder, read } from '../source.ts';

/** Properties, simulations and fuzzing are left out: what only chance finds wants a plain test beside it. */
const wide =
  /^test\/(?:(?:core|guard|policy\/table|coordination|stores|standalone|clauses|traps|issues)\/.*|[\w-]+)\.test\.ts$/;

export interface Stages {
  readonly near: readonly string[];
  readonly far: readonly string[];
}

export function stagesOf(file: string): Stages {
  const folder = posix.dirname(file).replace(/^src/, 'test');
  const name = posix.basename(file, '.ts');
  const tests = filesUnder().filter((path) => wide.test(path));
  const near = tests.filter((path) => {
    if (posix.dirname(path) !== folder) return false;
    // In a folder of its own a mechanism is tested as a whole.
    const other = posix.basename(path, '.test.ts');
    return folder !== 'test/core' || name.startsWith(other) || other.startsWith(name);
  });
  return { near, far: tests.filter((path) => !near.includes(path) && reached(path).has(file)) };
}

const known = new Map<string, ReadonlySet<string>>();

/** Every file that a file imports, and what those import. */
function reached(path: string): ReadonlySet<string> {
  const before = known.get(path);
  if (before !== undefined) return before;
  const found = new Set<string>();
  const waiting = [path];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    // Any relative path in quotes: what is loaded only when it is needed counts, too.
    for (const [, specifier = ''] of codeOf(read(next), 'text').matchAll(/'(\.{1,2}\/[^'\n]+\.ts)'/g)) {
      const imported = posix.join(posix.dirname(next), specifier);
      if (found.has(imported)) continue;
      found.add(imported);
      waiting.push(imported);
    }
  }
  known.set(path, found);
  return found;
}
