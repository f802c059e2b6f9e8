/** Runs functions when the process ends by itself or by `process.exit`; a killed process runs none. */

const ends = new Set<() => void>();
let isListening = false;

/**
 * Calls a function when the process has nothing left to do, so that it can still send something, and again when it
 * exits; returns a function that removes it.
 */
export function onProcessEnd(run: () => void): () => void {
  if (!isListening) {
    isListening = true;
    for (const event of ['beforeExit', 'exit']) process.on(event, runAll);
  }
  ends.add(run);
  return () => void ends.delete(run);
}

function runAll(): void {
  for (const run of ends) {
    try {
      run();
    } catch {
      // The end of the process is not the place to fail.
    }
  }
}
