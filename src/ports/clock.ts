/** The interface of clocks: the only source of time and timers outside `core/`. */
export interface Clock {
  /** Returns the store time in milliseconds; store time never goes back. */
  nowMs(): number;
  /** Returns the wall time in milliseconds since 1970, for display only. */
  wallMs(): number;
  /**
   * Runs a function after a delay and returns a function that cancels the timer.
   *
   * @param keepAlive Whether the timer keeps the process alive.
   * @default keepAlive false
   */
  after(delayMs: number, run: () => void, keepAlive?: boolean): () => void;
  /** Keeps the process alive until the returned function is called. A clock of simulated time has no such function. */
  hold?(): () => void;
}
