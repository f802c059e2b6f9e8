/**
 * The pages about frameworks are true: every program in them compiles and runs here, where the frameworks are. So
 * compile the examples in the doc comments of adapters.
 */

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  addExamples,
  createProgramFolder,
  findPrograms,
  isOfFramework,
  needsFramework,
  testPrograms,
} from '../harness/doc-programs.ts';

const here = dirname(fileURLToPath(import.meta.url));
const programFolder = createProgramFolder(here, join(here, 'hooks.ts'), '../../tsconfig.json');
const programs = findPrograms(programFolder, isOfFramework);
addExamples(programFolder, needsFramework);

test('the framework pages contain at least five programs', () => {
  assert.ok(programs.length >= 5, `only ${programs.length} programs were found`);
});

testPrograms(programFolder, programs);
