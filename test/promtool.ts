/** The checker of Prometheus, for tests of metrics and rules. It runs once per call and starts no daemon. */

import { spawnSync } from 'node:child_process';
import { missingService, testWith } from './services.ts';

/** `test` for tests that run promtool. */
export const testWithPromtool = testWith('promtool');

export interface PromtoolResult {
  /** 0 if everything is right; 3 of `check metrics` if only the lint has words. */
  readonly code: number;
  /** The words on stdout and stderr. */
  readonly words: string;
}

/** Runs promtool, as in `runPromtool(['check', 'rules', FILE])`; `input` is its standard input. */
export function runPromtool(args: readonly string[], input = ''): PromtoolResult {
  const missing = missingService('promtool');
  if (missing !== undefined) throw new Error(missing);
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { code: status ?? 1, words: `${stdout}${stderr}` };
}
