/** Requests of the proxy itself to a server, with ids that no client uses. Their answers are not passed on. */

import { uniqueId } from '../platform/unique-id.ts';
import type { RpcMessage } from './message.ts';

export class OwnRequests {
  readonly #toServer: (line: Buffer) => void;
  readonly #prefix = `switchgear-${uniqueId()}-`;
  readonly #waiting = new Map<string, (answer: RpcMessage) => void>();
  #count = 0;

  constructor(toServer: (line: Buffer) => void) {
    this.#toServer = toServer;
  }

  /** Whether an answer has yet to come. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  send(method: string, params: object, onAnswer: (answer: RpcMessage) => void): void {
    const id = `${this.#prefix}${++this.#count}`;
    this.#waiting.set(id, onAnswer);
    this.#toServer(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`));
  }

  /** Whether a message answers an own request. */
  readAnswer(message: RpcMessage): boolean {
    const { id } = message;
    if (typeof id !== 'string' || message.method !== undefined || !id.startsWith(this.#prefix)) return false;
    const onAnswer = this.#waiting.get(id);
    this.#waiting.delete(id);
    onAnswer?.(message);
    return true;
  }
}
