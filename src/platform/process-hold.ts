/** Keeps the process alive while a call with a time limit is out, so that Node does not exit before the limit. */

import type { Clock } from '../ports/clock.ts';
import { nextTurn } from './system-clock.ts';

export interface ProcessHold {
  /** A call is out. */
  begin(): void;
  /** A call is back. */
  end(): void;
  /** Lets the process end, whatever is out. */
  close(): void;
}

/**
 * Creates a hold. A call that is back within one turn of the event loop costs two counts and no timer: the process
 * is held from the next turn on.
 */
export function createProcessHold(clock: Clock): ProcessHold {
  if (clock.hold === undefined) return { begin() {}, end() {}, close() {} };
  let calls = 0;
  let isChecking = false;
  let isClosed = false;
  let release: (() => void) | undefined;

  function check(): void {
    isChecking = false;
    if (calls > 0 && !isClosed) release ??= clock.hold!();
  }

  return {
    begin() {
      if (calls++ > 0 || isChecking || release !== undefined) return;
      isChecking = true;
      nextTurn(check);
    },
    end() {
      if (--calls > 0 || release === undefined) return;
      release();
      release = undefined;
    },
    close() {
      isClosed = true;
      release?.();
      release = undefined;
    },
  };
}
