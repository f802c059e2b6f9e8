/** Where the loud entries are printed: stderr, or nowhere inside a test runner, unless the host says. */

import { fn, oneOf } from './arguments.ts';
import type { SwitchgearOptions } from './front-door.ts';
import type { LogLevel } from './log.ts';

export function logOf(log: SwitchgearOptions['log']): {
  readonly level: LogLevel;
  readonly print: (line: string) => void;
} {
  if (typeof log === 'function') {
    fn('log', log);
    return { level: 'info', print: log };
  }
  if (log !== undefined) oneOf('log', log, ['silent', 'trips', 'info']);
  return { level: log ?? (isTest() ? 'silent' : 'trips'), print: (line) => process.stderr.write(`${line}\n`) };
}

function isTest(): boolean {
  const { NODE_TEST_CONTEXT, NODE_ENV, VITEST } = process.env;
  return NODE_TEST_CONTEXT !== undefined || NODE_ENV === 'test' || VITEST !== undefined;
}
