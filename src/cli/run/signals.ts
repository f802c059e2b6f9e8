/** What reaches a run from outside: Ctrl-C, other signals, a reader of the output that has gone, a night's sleep. */

import type { Terminal } from '../command.ts';

export interface OutsideOptions {
  readonly terminal: Terminal;
  /** The terminal sends Ctrl-C and Ctrl-Z to the agent itself. */
  readonly ownsTerminal: boolean;
  /** Asked to end, by which signal; called again when somebody asks once more. */
  ask(signal: NodeJS.Signals): void;
  /** The terminal puts us to sleep, and wakes us. */
  sleep(): void;
  wake(): void;
}

/** Listens until the result is called. */
export function listenOutside({ terminal, ownsTerminal, ask, sleep, wake }: OutsideOptions): () => void {
  const gone = () => ask('SIGPIPE');
  let asleep = false;
  const doze = () => {
    asleep = true;
    sleep();
    process.kill(process.pid, 'SIGSTOP');
  };
  const rouse = () => {
    if (asleep) wake(); // What an operator paused is not ours to wake.
    asleep = false;
  };
  const ignore = () => undefined;
  const heard: readonly (readonly [NodeJS.Signals, () => void])[] = [
    ['SIGINT', ownsTerminal ? ignore : () => ask('SIGINT')],
    ['SIGTERM', () => ask('SIGTERM')],
    ['SIGHUP', () => ask('SIGHUP')],
    ...(ownsTerminal
      ? []
      : ([
          ['SIGTSTP', doze],
          ['SIGCONT', rouse],
        ] as const)),
  ];
  for (const [name, listener] of heard) process.on(name, listener);
  if (terminal.stopSignal?.aborted === true) gone();
  terminal.stopSignal?.addEventListener('abort', gone, { once: true });
  return () => {
    for (const [name, listener] of heard) process.removeListener(name, listener);
    terminal.stopSignal?.removeEventListener('abort', gone);
  };
}
