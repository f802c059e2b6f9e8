/** The answers of the API that the board reads. */

import type { OperatorTask } from '../../../src/operator/board/answers.ts';

/** The tasks of a store, and the pauses in force. */
export interface TasksAnswer {
  readonly tasks: readonly OperatorTask[];
  readonly total: number;
  readonly pauses: readonly { readonly target: string | null; readonly reason: string }[];
  readonly atMs: number;
}
