/** What has to be known of an agent's command to run it under supervision. */

import type { Reader } from './reader.ts';

/** A known agent command: its CLI, its arguments and the reader of its output. */
export interface AgentCommand {
  readonly cli: 'claude-code' | 'codex' | 'gemini' | 'opencode' | 'other';
  /** It works by itself; else it talks to a person at a terminal. */
  readonly headless: boolean;
  /**
   * `events`: it prints them as it stands. `asked`: it does once `command` is run instead. `text`: it does not, or was
   * asked for another format.
   */
  readonly stream: 'events' | 'asked' | 'text';
  /** The command to run, with the flags that make it print events where it was not asked for any format. */
  readonly command: readonly string[];
  /** The flags that were added. */
  readonly added: readonly string[];
  /** What it was asked, as far as the command line says. */
  readonly prompt: string | undefined;
  readonly model: string | undefined;
  /** The session that it goes on with, where it does. */
  readonly session: string | undefined;
  /** The signal at which it ends as cleanly as it can. What its tools started may outlive it all the same. */
  readonly signal: 'SIGINT' | 'SIGTERM';
  /** The command that goes on with a session; undefined where it cannot. */
  resume(session: string, prompt: string): readonly string[] | undefined;
  /** A reader of what `command` prints. */
  reader(): Reader;
}
