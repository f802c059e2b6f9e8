/** The parts that all attempts of one `switchgear run` share. */

import type { Switchgear, Task } from '../../guard/api.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import type { Terminal } from '../command.ts';
import type { RunGateway } from '../gateway/run-gateway.ts';
import type { RunCommandOptions } from './options.ts';
import type { Screen } from './screen.ts';

export interface RunCommandContext {
  readonly options: RunCommandOptions;
  readonly terminal: Terminal;
  readonly gear: Switchgear;
  readonly store: Store;
  /** The id of the stored settings of the policy. */
  readonly policyId: string;
  readonly screen: Screen;
  /** Opens the gateway of an attempt; absent without `--gateway`. */
  openGateway?(command: readonly string[]): Promise<RunGateway>;
  /** The clock for waiting; decisions use the store's clock. */
  readonly clock: Clock;
  /** Prints an event of Switchgear with `--json`; otherwise does nothing. */
  emit(kind: 'run' | 'event' | 'entry' | 'card', body: object): void;
  /** Sets the task of the status line; undefined while no attempt runs. */
  setStatusTask(task: Task | undefined): void;
}
