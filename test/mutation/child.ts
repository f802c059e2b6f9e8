/** Runs tests with one slip planted, in a process of its own; it ends at the first test that fails. */

import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { run } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readText, root } from '../harness/source.ts';
import { type Mutant, plantedIn, strippedOf } from './mutants.ts';

interface Job {
  readonly tests: readonly string[];
  readonly mutant: Mutant;
}

const { tests, mutant } = JSON.parse(process.argv[2]!) as Job;
plant(mutant);

let passed = 0;
run({ files: tests.map((path) => join(root, path)), isolation: 'none', timeout: 60_000 })
  .on('test:fail', () => process.exit(1))
  .on('test:pass', () => passed++)
  .on('end', () => process.exit(passed > 0 ? 0 : 1))
  .resume();

function plant(slip: Mutant): void {
  const target = pathToFileURL(join(root, slip.file)).href;
  const source = plantedIn(strippedOf(readText(slip.file)), slip);
  registerHooks({
    load: (url, context, next) =>
      url === target ? { format: 'module', source, shortCircuit: true } : next(url, context),
  });
}
