/**
 * Keeps the books right after a stack overflow. An overflow can end any function of ours halfway; so the settlement of
 * a call is then put off until the stack has room, and from the first overflow on a call needs room to be admitted.
 *
 * Code that handles an overflow may have no stack left for a call of a function: it assigns to `stackRoom` directly,
 * and looks at the error in place, in a `try`, because a hostile value may throw when it is looked at.
 */

/** A settlement that waits for room on the stack. */
interface OwedSettlement {
  readonly run: () => void;
  readonly next: OwedSettlement | undefined;
}

export const stackRoom: {
  /** Whether the stack of this process has overflowed. */
  isTight: boolean;
  owed: OwedSettlement | undefined;
} = { isTight: false, owed: undefined };

/** The messages of V8 and JavaScriptCore. */
export const overflowMessage = 'Maximum call stack size exceeded';
export const overflowSentence = 'Maximum call stack size exceeded.';

/** Frames of a small function that a call, its admission and its settlement need at most. */
const roomFrames = 500;

function descend(frames: number): number {
  return frames === 0 ? 0 : descend(frames - 1) + 1;
}

/** Runs the settlements that were put off; throws like an overflow if the stack has no room for a call. */
export function makeRoom(): void {
  descend(roomFrames);
  for (let { owed } = stackRoom; owed !== undefined; owed = stackRoom.owed) {
    stackRoom.owed = owed.next;
    owed.run();
  }
}

/** Runs the settlements that were put off, unless the stack has no room now. */
export function settleOwed(): void {
  if (stackRoom.owed === undefined) return;
  try {
    makeRoom();
  } catch {
    // A later call tries again.
  }
}
