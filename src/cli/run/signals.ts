/** Handles signals to a run: Ctrl-C, termination, a closed reader of the output, suspend and continue. */

import type { Terminal } from '../command.ts';

export interface RunSignalOptions {
  readonly terminal: Terminal;
  /** The terminal sends Ctrl-C and Ctrl-Z to the agent itself. */
  readonly ownsTerminal: boolean;
  /** Asked to end, by which signal; called again when somebody asks once more. */
  onStopRequest(signal: NodeJS.Signals): void;
  /** The terminal puts us to sleep, and wakes us. */
  onSuspend(): void;
  onContinue(): void;
}

/** Listens until the result is called. */
export function listenForSignals({
  terminal,
  ownsTerminal,
  onStopRequest,
  onSuspend,
  onContinue,
}: RunSignalOptions): () => void {
  const onReaderGone = () => onStopRequest('SIGPIPE');
  let isSuspended = false;
  const suspend = () => {
    isSuspended = true;
    onSuspend();
    process.kill(process.pid, 'SIGSTOP');
  };
  const continueAfterSuspend = () => {
    if (isSuspended) onContinue(); // What an operator paused is not ours to wake.
    isSuspended = false;
  };
  const ignore = () => undefined;
  const listeners: readonly (readonly [NodeJS.Signals, () => void])[] = [
    ['SIGINT', ownsTerminal ? ignore : () => onStopRequest('SIGINT')],
    ['SIGTERM', () => onStopRequest('SIGTERM')],
    ['SIGHUP', () => onStopRequest('SIGHUP')],
    ...(ownsTerminal
      ? []
      : ([
          ['SIGTSTP', suspend],
          ['SIGCONT', continueAfterSuspend],
        ] as const)),
  ];
  for (const [name, listener] of listeners) process.on(name, listener);
  if (terminal.stopSignal?.aborted === true) onReaderGone();
  terminal.stopSignal?.addEventListener('abort', onReaderGone, { once: true });
  return () => {
    for (const [name, listener] of listeners) process.removeListener(name, listener);
    terminal.stopSignal?.removeEventListener('abort', onReaderGone);
  };
}
