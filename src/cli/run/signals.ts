/** Handles signals to a run: Ctrl-C, termination, a closed reader of the output, suspend and continue. */

import type { Terminal } from '../command.ts';

export interface RunSignalOptions {
  readonly terminal: Terminal;
  /** Whether the terminal sends Ctrl-C and Ctrl-Z directly to the agent. */
  readonly ownsTerminal: boolean;
  /** Called for each signal that asks the run to end. */
  onStopRequest(signal: NodeJS.Signals): void;
  /** Called when the terminal suspends the process, and when it continues. */
  onSuspend(): void;
  onContinue(): void;
}

/** Starts to listen; returns a function that stops it. */
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
    if (isSuspended) onContinue(); // Do not continue a run that an operator paused.
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
