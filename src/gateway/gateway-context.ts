/** What all requests of a gateway share. */

import type { Runtime } from '../guard/internal.ts';
import type { GatewayTasks } from './gateway-tasks.ts';
import type { ModelFigures } from './model-figures.ts';
import type { GatewayRun } from './run-tasks.ts';
import type { RunningCalls } from './running-calls.ts';
import type { TaskLedger } from './task-ledger.ts';
import type { UpstreamChoice } from './upstream-choice.ts';
import type { createConnections } from './upstreams.ts';

export interface GatewayContext {
  readonly runtime: Runtime;
  readonly tasks: GatewayTasks;
  /** The run whose requests the gateway serves; absent if it serves anybody. */
  readonly run?: GatewayRun | undefined;
  /** Absent if the store ends with the process. */
  readonly ledger: TaskLedger | undefined;
  readonly figures: ModelFigures;
  readonly running: RunningCalls;
  readonly connections: ReturnType<typeof createConnections>;
  readonly upstreams: UpstreamChoice;
}
