/**
 * Keeps the heap for new objects small. V8 doubles it while many of them live, up to 64 MB, and a relay needs little:
 * larger ones make the process large and no faster. V8 takes a limit only when a process starts, but stops growing at
 * any time.
 */

/** The size at which the heap stops growing, and how many pieces of input are read between two looks. */
const youngBytesMax = 8_000_000;
const piecesPerLook = 16;

/** Returns a function to call with each piece of input. */
export function limitYoungHeap(): () => void {
  let pieces = 0;
  let isStopped = false;
  return () => {
    if (isStopped || ++pieces % piecesPerLook !== 0) return;
    const v8 = process.getBuiltinModule('node:v8');
    const young = v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (young === undefined || young.space_size < youngBytesMax) return;
    isStopped = true;
    v8.setFlagsFromString('--semi-space-growth-factor=1');
  };
}
