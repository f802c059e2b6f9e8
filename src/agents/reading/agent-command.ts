/** The data about an agent's command that is needed to supervise it. */

import type { Reader } from './reader.ts';

/** A known agent command: its CLI, its arguments and the reader of its output. */
export interface AgentCommand {
  readonly cli: 'claude-code' | 'codex' | 'gemini' | 'opencode' | 'other';
  /** Whether the agent runs without a person; otherwise it uses the terminal. */
  readonly headless: boolean;
  /**
   * `events`: the original command prints events. `asked`: `command`, with added flags, prints them. `text`: it
   * prints no events, or another format was requested.
   */
  readonly stream: 'events' | 'asked' | 'text';
  /** The command to run, with added flags for events unless it sets a format. */
  readonly command: readonly string[];
  /** The added flags. */
  readonly added: readonly string[];
  /** The prompt, if it is on the command line. */
  readonly prompt: string | undefined;
  readonly model: string | undefined;
  /** The session that the command resumes, if any. */
  readonly session: string | undefined;
  /** The signal that ends the agent most cleanly. Processes of its tools may outlive it. */
  readonly signal: 'SIGINT' | 'SIGTERM';
  /** The command that resumes a session; undefined if the agent cannot. */
  resume(session: string, prompt: string): readonly string[] | undefined;
  /** Creates a reader of the output of `command`. */
  reader(): Reader;
}
