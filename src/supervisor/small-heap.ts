/** Keeps the memory of a supervisor small: what a flood of lines leaves behind is garbage at once. */

/** What lives in it is some megabytes; left alone, Node lets ten times as much lie before it looks. */
export function keepHeapSmall(): void {
  // Loaded here: the agent runs by now.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=30');
}
