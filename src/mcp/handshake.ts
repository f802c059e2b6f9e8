/**
 * The handshake of a client with a server, recorded so that it can be repeated with a server that was started again.
 * Since 2026-07-28 there is none: then nothing is repeated.
 */

import { type MessageId, normalizeId, type RpcMessage, readObject } from './message.ts';

export class Handshake {
  #request: { readonly id: MessageId; readonly line: Buffer } | undefined;
  #initialized: Buffer | undefined;
  /** The first answer of the server. */
  #answer: string | undefined;
  /** The answer of the server before and after it was started again, if it changed. */
  change: readonly [before: string, after: string] | undefined;
  #repeating: ((isSame: boolean) => void) | undefined;

  /** Whether a server was asked again and has not answered yet. */
  get isRepeating(): boolean {
    return this.#repeating !== undefined;
  }

  /** Whether the server has answered the client. */
  get isDone(): boolean {
    return this.#answer !== undefined;
  }

  /** Whether the client has ended the handshake. */
  get isEstablished(): boolean {
    return this.isDone && this.#initialized !== undefined;
  }

  /** Whether the server announces changes of its list of tools. */
  get announcesTools(): boolean {
    let is = false;
    this.read(({ capabilities }) => {
      is = readObject(readObject(capabilities)?.tools)?.listChanged === true;
    });
    return is;
  }

  /** Reads the first answer of the server, if there is one. */
  read(reader: (result: RpcMessage) => void): void {
    const result = this.#answer === undefined ? undefined : readObject(JSON.parse(this.#answer));
    if (result !== undefined) reader(result);
  }

  /** Records a message of the client. */
  readRequest({ method }: RpcMessage, id: MessageId | undefined, line: Buffer): void {
    if (method === 'initialize' && id !== undefined) {
      this.#request = { id, line: Buffer.from(line) };
      this.#answer = undefined;
    } else if (method === 'notifications/initialized') this.#initialized = Buffer.from(line);
  }

  /** Records the answer of the server. Returns whether it is for the client. */
  readAnswer(message: RpcMessage, id: MessageId | undefined): boolean {
    if (this.#request === undefined || message.method !== undefined || id !== this.#request.id) return true;
    const repeated = this.#repeating;
    this.#repeating = undefined;
    const answer = JSON.stringify(message.result);
    if (repeated === undefined) {
      if (message.error === undefined) this.#answer ??= answer;
      return true;
    }
    if (answer !== this.#answer) this.change = [this.#answer ?? '', answer ?? ''];
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
