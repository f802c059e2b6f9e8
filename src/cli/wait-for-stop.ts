/** How a command that serves others ends. */

import type { Terminal } from './command.ts';

/** Waits for SIGINT, SIGTERM or the end of the command. */
export function waitForStop({ stopSignal }: Terminal): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      process.removeListener('SIGINT', stop);
      process.removeListener('SIGTERM', stop);
      resolve();
    };
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
    if (stopSignal?.aborted === true) stop();
    stopSignal?.addEventListener('abort', stop, { once: true });
  });
}
