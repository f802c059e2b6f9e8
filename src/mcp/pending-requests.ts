/** The requests of a client that wait for their answers, by id. */

import type { RelayedCall } from '../guard/entries/relayed-call.ts';
import { pendingMax } from './limits.ts';
import type { MessageId } from './message.ts';

/** A call of a tool on its way. */
export interface CallRequest {
  readonly kind: 'call';
  readonly id: MessageId | undefined;
  /** The id under which the client also reports the call to its hooks. */
  readonly hostId: string | undefined;
  readonly tool: string;
  readonly input: unknown;
  readonly isModern: boolean;
  readonly progressToken: MessageId | undefined;
  /** Ends the wait of a call that is held. */
  readonly controller: AbortController;
  /** The running call; absent while it is held. */
  call?: RelayedCall | undefined;
  /** The line of a call that is held. */
  line?: Buffer | undefined;
  /** Whether the client has its answer already, so that the one of the server is dropped. */
  isAnswered?: boolean;
}

/** Another request. */
export interface OtherRequest {
  readonly kind: 'request';
  readonly id: MessageId;
  readonly method: string;
}

export type PendingRequest = CallRequest | OtherRequest;

export class PendingRequests {
  /** A client may use an id twice at once; the server then answers in order. */
  readonly #byId = new Map<MessageId, PendingRequest[]>();
  readonly #byProgressToken = new Map<MessageId, CallRequest>();

  get size(): number {
    return this.#byId.size;
  }

  get isFull(): boolean {
    return this.#byId.size >= pendingMax;
  }

  list(): readonly PendingRequest[] {
    return [...this.#byId.values()].flat();
  }

  /** The request that the next answer with this id is for. */
  find(id: MessageId | undefined): PendingRequest | undefined {
    return id === undefined ? undefined : this.#byId.get(id)?.[0];
  }

  findByProgressToken(token: MessageId): CallRequest | undefined {
    return this.#byProgressToken.get(token);
  }

  has(request: PendingRequest): boolean {
    return request.id !== undefined && this.#byId.get(request.id)?.includes(request) === true;
  }

  /** Adds a request, unless there are too many: its answer then passes unread. */
  add(request: PendingRequest): void {
    const { id } = request;
    if (id === undefined) return;
    const same = this.#byId.get(id);
    if (same === undefined && this.isFull) return;
    if (same === undefined) this.#byId.set(id, [request]);
    else if (same.length < pendingMax) same.push(request);
    if (request.kind === 'call' && request.progressToken !== undefined)
      this.#byProgressToken.set(request.progressToken, request);
  }

  remove(request: PendingRequest): void {
    const { id } = request;
    if (id === undefined) return;
    const same = this.#byId.get(id);
    if (same?.length === 1 && same[0] === request) this.#byId.delete(id);
    else if (same !== undefined) {
      const at = same.indexOf(request);
      if (at !== -1) same.splice(at, 1);
    }
    if (request.kind !== 'call' || request.progressToken === undefined) return;
    if (this.#byProgressToken.get(request.progressToken) === request)
      this.#byProgressToken.delete(request.progressToken);
  }
}
