/** Keeps the memory of a supervisor small: what a flood of lines leaves behind is garbage at once. */

/** Where new objects lie until they are looked at: more saves little time, and costs three times as much memory. */
const youngBytes = 8_388_608;

/** What lives in it is some megabytes; left alone, Node lets ten times as much lie before it looks. */
export function keepHeapSmall(): void {
  // Loaded here: the agent runs by now.
  const { setFlagsFromString, getHeapSpaceStatistics } = process.getBuiltinModule('node:v8');
  const { PerformanceObserver } = process.getBuiltinModule('node:perf_hooks');
  setFlagsFromString('--heap-growing-percent=30');
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    if (young !== undefined && young.space_size < youngBytes) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
}
