/** The requests of a client that wait for their answers, by id. */

import type { RelayedCall } from '../guard/entries/relayed-call.ts';
import { canShowForms } from './elicitation.ts';
import { pendingMax } from './limits.ts';
import { isModern, type MessageId, type RpcMessage, readHostId, readId, readObject } from './message.ts';

/** A call of a tool on its way. */
export interface CallRequest {
  readonly kind: 'call';
  /** The id of the request; that of a later request if the client had to call again. */
  id: MessageId | undefined;
  /** The id under which the client also reports the call to its hooks. */
  readonly hostId: string | undefined;
  readonly tool: string;
  readonly input: unknown;
  readonly isModern: boolean;
  progressToken: MessageId | undefined;
  /** Whether the client of a newer protocol can ask its person. */
  readonly canAsk: boolean;
  /** Whether the call continues one that is counted. */
  isContinued?: boolean;
  /** Ends the wait of a call that is held. */
  readonly wait: CallWait;
  /** The running call; absent while it is held. */
  call?: RelayedCall | undefined;
  /** The line of a call that is held. */
  line?: Buffer | undefined;
  /** Whether the client has its answer already, so that the one of the server is dropped. */
  isAnswered?: boolean;
}

/** Reads a call of a client. */
export function makeCallRequest(message: RpcMessage, line: Buffer): CallRequest {
  const params = readObject(message.params);
  const token = readObject(params?._meta)?.progressToken;
  const isToken = typeof token === 'string' || typeof token === 'number';
  return {
    kind: 'call',
    id: readId(message, line),
    hostId: readHostId(params),
    tool: String(params?.name),
    input: params?.arguments ?? {},
    isModern: isModern(params),
    canAsk: canShowForms(readObject(params?._meta)?.['io.modelcontextprotocol/clientCapabilities']),
    progressToken: isToken ? JSON.stringify(token) : undefined,
    wait: new CallWait(),
  };
}

/** The wait of a call that may be held. Few calls are, so its signal is made when somebody reads it. */
class CallWait {
  #isAborted = false;
  #controller: AbortController | undefined;

  get isAborted(): boolean {
    return this.#isAborted;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort();
  }
}

/** Another request. */
export interface OtherRequest {
  readonly kind: 'request';
  readonly id: MessageId;
  readonly method: string;
  /** Whether a list is asked for from its beginning. */
  readonly isFirstPage?: boolean;
}

export type PendingRequest = CallRequest | OtherRequest;

export class PendingRequests {
  /**
   * The place of each id in the list. The requests themselves are not in the map: a map whose members come and go is
   * copied often, and V8 keeps the members of the copies until its next full collection.
   */
  readonly #places = new Map<MessageId, number>();
  /** A client may use an id twice at once; the server then answers in order. */
  readonly #requests: (PendingRequest[] | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #byProgressToken = new Map<MessageId, CallRequest>();

  /** Requests for the list of tools. */
  lists = 0;
  /** Calls of tools, passed on or held. */
  calls = 0;

  get size(): number {
    return this.#places.size;
  }

  get isFull(): boolean {
    return this.#places.size >= pendingMax;
  }

  list(): readonly PendingRequest[] {
    return [...this.#places.values()].flatMap((place) => this.#requests[place]!);
  }

  /** The request that the next answer with this id is for. */
  find(id: MessageId | undefined): PendingRequest | undefined {
    if (id === undefined || this.#places.size === 0) return undefined;
    return (this.#at(id) ?? this.#at(toOtherForm(id)))?.[0];
  }

  findByProgressToken(token: MessageId): CallRequest | undefined {
    return this.#byProgressToken.get(token);
  }

  has(request: PendingRequest): boolean {
    return request.id !== undefined && this.#at(request.id)?.includes(request) === true;
  }

  /** Whether no other request has the id of this one. */
  isOnly({ id }: PendingRequest): boolean {
    return id !== undefined && this.#at(id)?.length === 1;
  }

  /** Adds a request, unless there are too many: its answer then passes unread. */
  add(request: PendingRequest): void {
    const { id } = request;
    if (id === undefined) return;
    const same = this.#at(id);
    if (same === undefined && this.isFull) return;
    if (same === undefined) this.#place(id, [request]);
    else if (same.length < pendingMax) same.push(request);
    if (isList(request)) this.lists++;
    if (request.kind === 'call') this.calls++;
    if (request.kind === 'call' && request.progressToken !== undefined)
      this.#byProgressToken.set(request.progressToken, request);
  }

  remove(request: PendingRequest): void {
    const { id } = request;
    if (id === undefined) return;
    const same = this.#at(id);
    const at = same?.indexOf(request) ?? -1;
    if (at !== -1 && isList(request)) this.lists--;
    if (at !== -1 && request.kind === 'call') this.calls--;
    if (at !== -1 && same!.length === 1) this.#forget(id);
    else if (at !== -1) same!.splice(at, 1);
    if (request.kind !== 'call' || request.progressToken === undefined) return;
    if (this.#byProgressToken.get(request.progressToken) === request)
      this.#byProgressToken.delete(request.progressToken);
  }

  #at(id: MessageId): PendingRequest[] | undefined {
    const place = this.#places.get(id);
    return place === undefined ? undefined : this.#requests[place];
  }

  #place(id: MessageId, requests: PendingRequest[]): void {
    const place = this.#free.pop() ?? this.#requests.length;
    this.#requests[place] = requests;
    this.#places.set(id, place);
  }

  #forget(id: MessageId): void {
    const place = this.#places.get(id)!;
    this.#places.delete(id);
    this.#requests[place] = undefined;
    this.#free.push(place);
  }
}

/** The same id as a text or as a number: clients take an answer with either. */
function toOtherForm(id: MessageId): MessageId {
  if (!id.startsWith('"')) return JSON.stringify(id);
  const value = Number(JSON.parse(id));
  return Number.isSafeInteger(value) ? String(value) : id;
}

/** Whether a request asks for the list of tools. */
export function isList(request: PendingRequest | undefined): request is OtherRequest {
  return request?.kind === 'request' && request.method === 'tools/list';
}
