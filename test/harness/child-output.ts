/** What a child process has printed so far. */

import type { ChildProcess } from 'node:child_process';

export function collectOutput({ stdout, stderr }: ChildProcess): {
  readonly out: () => string;
  readonly err: () => string;
} {
  let out = '';
  let err = '';
  stdout?.on('data', (data) => {
    out += data;
  });
  stderr?.on('data', (data) => {
    err += data;
  });
  return { out: () => out, err: () => err };
}
