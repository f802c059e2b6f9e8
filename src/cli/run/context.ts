/** The parts that all attempts of one `switchgear run` share. */

import type { Switchgear, Task } from '../../guard/api.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import type { Terminal } from '../command.ts';
import type { RunCommandOptions } from './options.ts';
import type { Screen } from './screen.ts';

export interface RunCommandContext {
  readonly options: RunCommandOptions;
  readonly terminal: Terminal;
  readonly gear: Switchgear;
  readonly store: Store;
  readonly screen: Screen;
  /** Time as it passes here, for waiting; what is judged goes by the store's. */
  readonly clock: Clock;
  /** Prints a line of our own event stream; does nothing where it was not asked for. */
  emit(kind: 'run' | 'event' | 'entry' | 'card', body: object): void;
  /** Says which task the status line is about; none while nothing runs. */
  setStatusTask(task: Task | undefined): void;
}
