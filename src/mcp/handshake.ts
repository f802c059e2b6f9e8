/**
 * The handshake of a client with a server, recorded so that it can be repeated with a server that was started again.
 * Since 2026-07-28 there is none: then nothing is repeated.
 */

import { type MessageId, normalizeId, type RpcMessage, readId } from './message.ts';

export class Handshake {
  #request: { readonly id: MessageId; readonly line: Buffer } | undefined;
  #initialized: Buffer | undefined;
  /** The first answer of the server. */
  #answer: string | undefined;
  #repeating: ((isSame: boolean) => void) | undefined;

  /** Whether a server was asked again and has not answered yet. */
  get isRepeating(): boolean {
    return this.#repeating !== undefined;
  }

  /** Whether the server has answered the client. */
  get isDone(): boolean {
    return this.#answer !== undefined;
  }

  /** Records a message of the client. */
  readRequest({ method }: RpcMessage, id: MessageId | undefined, line: Buffer): void {
    if (method === 'initialize' && id !== undefined) {
      this.#request = { id, line: Buffer.from(line) };
      this.#answer = undefined;
    } else if (method === 'notifications/initialized') this.#initialized = Buffer.from(line);
  }

  /** Records the answer of the server. Returns whether it is for the client. */
  readAnswer(message: RpcMessage, line: Buffer): boolean {
    if (message.method !== undefined || readId(message, line) !== this.#request?.id) return true;
    const repeated = this.#repeating;
    this.#repeating = undefined;
    const answer = JSON.stringify(message.result);
    if (repeated === undefined) {
      if (message.error === undefined) this.#answer ??= answer;
      return true;
    }
    repeated(answer === this.#answer);
    return false;
  }

  /**
   * Repeats the handshake with another server. Resolves when the server has answered: with whether the answer is the
   * same as the first one.
   */
  async repeat(send: (line: Buffer) => void): Promise<boolean> {
    if (this.#request === undefined || !this.isDone) return true;
    const answered = new Promise<boolean>((resolve) => {
      this.#repeating = resolve;
    });
    send(this.#request.line);
    const isSame = await answered;
    if (this.#initialized !== undefined) send(this.#initialized);
    return isSame;
  }

  /** Gives up a repetition that was not answered. */
  giveUp(): void {
    this.#repeating = undefined;
  }

  /** Whether an id is that of the handshake. */
  hasId(token: string | undefined): boolean {
    return this.#request !== undefined && normalizeId(token) === this.#request.id;
  }
}
