/** Time, handed in: the only way by which the shell learns what time it is and waits. */
export interface Clock {
  /** Store time in milliseconds: it never goes back, whatever the wall clock does. */
  nowMs(): number;
  /** Wall time, for display only. */
  wallMs(): number;
  /** Runs a function later; the result cancels it. The process is kept alive only where somebody waits for it. */
  after(delayMs: number, run: () => void, keepAlive?: boolean): () => void;
}
