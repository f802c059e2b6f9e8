/** The connection with a server, as a proxy for lines sees it: a process, or a server behind a URL. */

import type { Readable, Writable } from 'node:stream';
import type { ProcessExit } from '../supervisor/child.ts';
import type { MessageId } from './message.ts';

export interface ServerLink {
  /** The process of the server, if it was started here. */
  readonly pid?: number;
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves when the connection has ended and its output was read. */
  readonly ended: Promise<ProcessExit>;
  /** Ends the connection: closes its input, waits, then ends what is left. */
  end(): Promise<void>;
  /** Ends the connection by a signal. */
  signal(signal: 'SIGINT' | 'SIGTERM'): Promise<void>;
}

/** Settles and answers a request that the server did not answer. */
export type LoseRequest = (id: MessageId, reason: string, isServersFault: boolean) => void;

/** A server that could not be started. */
export interface LinkFailure {
  readonly error: NodeJS.ErrnoException;
}

/** Starts a server, or connects with one. */
export type StartServer = (lose: LoseRequest) => Promise<ServerLink | LinkFailure>;
