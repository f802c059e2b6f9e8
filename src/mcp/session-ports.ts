/** What a session is connected with. */

import type { SessionClient } from './elicitation.ts';
import type { Judge } from './judge.ts';

/** The two ends of a session, and its judge. */
export interface SessionPorts {
  toClient(line: Buffer): void;
  toServer(line: Buffer): void;
  /** Opens the judge when the session is about to use tools; called again by the next call or list if that fails. */
  openJudge(client: SessionClient): Promise<Judge>;
  /** Reports that the judge cannot be opened; the calls and lists that waited for it are refused. */
  onJudgeFailed(error: unknown): void;
  /** Prints a line for a person. */
  report?(line: string): void;
}
