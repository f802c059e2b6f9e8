/** Lists of messages of a client, as older versions of the protocol allow: one passes if every call in it may pass. */

import type { Judge } from './judge.ts';
import type { LineVerdict } from './line-relay.ts';
import { errorCodes, makeErrorLine, type RpcMessage, readId, readObject } from './message.ts';
import { type CallRequest, makeCallRequest, type PendingRequests } from './pending-requests.ts';
import { reasons } from './refused-result.ts';

/** What batches need of their session. */
export interface BatchSession {
  judge(): Judge | undefined;
  open(): Promise<Judge | undefined>;
  /** Judges a call. */
  decide(judge: Judge, pending: CallRequest): void;
  /** Notes a message that is no call. */
  readMessage(message: RpcMessage, line: Buffer): void;
}

export class Batches {
  readonly #pending: PendingRequests;
  readonly #ports: { toClient(line: Buffer): void; toServer(line: Buffer): void };
  readonly #session: BatchSession;

  constructor(
    pending: PendingRequests,
    ports: { toClient(line: Buffer): void; toServer(line: Buffer): void },
    session: BatchSession,
  ) {
    this.#pending = pending;
    this.#ports = ports;
    this.#session = session;
  }

  read(messages: readonly unknown[], line: Buffer): LineVerdict {
    const objects = messages.map(readObject).filter((each) => each !== undefined);
    if (!objects.some(({ method }) => method === 'tools/call')) {
      for (const each of objects) this.#session.readMessage(each, line);
      return 'pass';
    }
    const judge = this.#session.judge();
    if (judge !== undefined) return this.#decide(judge, objects, line) ? 'pass' : 'drop';
    const held = Buffer.from(line);
    void this.#session.open().then((opened) => {
      if (opened === undefined) this.#refuse(objects, held);
      else if (this.#decide(opened, objects, held)) this.#ports.toServer(held);
    });
    return 'drop';
  }

  #decide(judge: Judge, objects: readonly RpcMessage[], line: Buffer): boolean {
    const calls: CallRequest[] = [];
    const others: RpcMessage[] = [];
    for (const each of objects) {
      if (each.method !== 'tools/call') {
        others.push(each);
        continue;
      }
      const pending = makeCallRequest(each, line);
      this.#pending.add(pending);
      this.#session.decide(judge, pending);
      calls.push(pending);
    }
    if (calls.every(({ call }) => call !== undefined)) {
      for (const each of others) this.#session.readMessage(each, line);
      return true;
    }
    for (const pending of calls) {
      const isOpen = this.#pending.has(pending);
      this.#pending.remove(pending);
      pending.wait.abort();
      pending.call?.cancel();
      if (isOpen) this.#ports.toClient(makeErrorLine(pending.id!, errorCodes.batchRefused, reasons.batch));
    }
    this.#refuse(others, line);
    return false;
  }

  #refuse(objects: readonly RpcMessage[], line: Buffer): void {
    for (const each of objects) {
      const id = typeof each.method === 'string' ? readId(each, line) : undefined;
      if (id !== undefined) this.#ports.toClient(makeErrorLine(id, errorCodes.batchRefused, reasons.batch));
    }
  }
}
