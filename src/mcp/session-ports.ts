/** What a session is connected with. */

import type { SessionClient } from './elicitation.ts';
import type { Judge } from './judge.ts';

/** The two ends of a session, and its judge. */
export interface SessionPorts {
  toClient(line: Buffer): void;
  toServer(line: Buffer): void;
  /** Opens the judge; called once, when the session is about to use tools. */
  openJudge(client: SessionClient): Promise<Judge>;
  /** Reports that no call can be judged; every call is refused from now on. */
  onJudgeFailed(error: unknown): void;
  /** Prints a line for a person. */
  report?(line: string): void;
}
