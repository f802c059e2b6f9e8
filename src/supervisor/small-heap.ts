/** Keeps the heap of a supervisor or a gateway small: what has passed is garbage at once. */

/**
 * Limits the young generation of the heap. The live data is a few megabytes; by default Node collects only after ten
 * times as much garbage.
 */
export function keepHeapSmall(): void {
  // Loaded here, after the agent has started.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=30');
}
