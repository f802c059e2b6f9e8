/**
 * Lets one long message of a server at a time be held, over all sessions in front of a command, so that memory stays
 * bounded.
 */

import { collectGarbage } from '../../platform/memory.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { bodyWaitMs } from '../limits.ts';
import type { ClientStream } from './client-stream.ts';

export class LongMessages {
  #holder: object | undefined;
  readonly #waiting = new Map<object, () => void>();
  #cancelTimer = () => {};
  #kept: ClientStream | undefined;

  /** Begins a long message of a session: resolves when its turn has come; undefined if it is its turn. */
  begin(session: object): Promise<void> | undefined {
    if (this.#holder === undefined) this.#start(session);
    if (this.#holder === session) return undefined;
    return new Promise((resolve) => {
      this.#waiting.set(session, () => {
        this.#start(session);
        resolve();
      });
    });
  }

  /** Ends the turn of a session, if it has or awaits one. */
  end(session: object): void {
    this.#waiting.delete(session);
    if (this.#holder !== session) return;
    this.#cancelTimer();
    this.#holder = undefined;
    collectGarbage();
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next[0]);
    next[1]();
  }

  /** A server that stops in the middle of a message, or a client that does not read, must not block the others. */
  #start(session: object): void {
    collectGarbage(); // What refers to the message before may have lasted longer than its turn.
    this.#holder = session;
    this.#cancelTimer = systemClock.after(bodyWaitMs, () => this.end(session));
  }

  /** Keeps the long events of one stream for a client that lost its connection, in place of those of another. */
  keepEvents(stream: ClientStream): void {
    if (this.#kept !== stream) this.#kept?.forgetEvents();
    this.#kept = stream;
  }
}
