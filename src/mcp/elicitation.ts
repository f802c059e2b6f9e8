/**
 * Asks the person at the client about a call, by a request of our own: for clients that declared in their handshake
 * that they can ask. Its answer is not passed to the server.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { QuestionCard } from '../core/card.ts';
import { uniqueId } from '../platform/unique-id.ts';
import type { Answer, Approver } from '../ports/approver.ts';
import { type MessageId, type RpcMessage, readObject } from './message.ts';

/** Asks the client of the call that is judged by a result, where it can be asked so. */
export const askByResult = new AsyncLocalStorage<(card: QuestionCard) => Promise<Answer>>();

/** The client of a session: its name, as it gave it, and the way to ask the person there. */
export interface SessionClient {
  readonly name: string | undefined;
  readonly approver: Approver;
}

/** The one field of the form. */
const schema = {
  type: 'object',
  properties: { approve: { type: 'boolean', title: 'Approve this call', default: false } },
  required: ['approve'],
};

/** The parameters of a request that shows the form. */
export function requestForm(card: QuestionCard): object {
  return { message: card.evidence.join('\n'), requestedSchema: schema };
}

/** Whether a person approved by the form; undefined without an answer. */
export function readFormAnswer(result: unknown): boolean | undefined {
  const { action, content } = readObject(result) ?? {};
  if (action === 'accept') return readObject(content)?.approve === true;
  return action === 'decline' ? false : undefined;
}

/** Whether a client that declares these capabilities can show forms; one that names no way can. */
export function canShowForms(capabilities: unknown): boolean {
  const declared = readObject(readObject(capabilities)?.elicitation);
  return declared !== undefined && (Object.keys(declared).length === 0 || declared.form !== undefined);
}

export class Elicitation {
  readonly #toClient: (line: Buffer) => void;
  /** Ids of our own, which no server uses. */
  readonly #prefix = `switchgear-${uniqueId()}-`;
  readonly #waiting = new Map<MessageId, (answer: RpcMessage) => void>();
  #count = 0;
  #client: string | undefined;

  constructor(toClient: (line: Buffer) => void) {
    this.#toClient = toClient;
  }

  /** Reads the handshake of the client: whether it can ask by a form. */
  readHandshake(params: RpcMessage | undefined): void {
    this.#client = canShowForms(params?.capabilities)
      ? String(readObject(params?.clientInfo)?.name ?? 'the client')
      : undefined;
  }

  /** Whether a message is the answer to a question of our own. */
  readAnswer(message: RpcMessage): boolean {
    const { id } = message;
    if (typeof id !== 'string' || !id.startsWith(this.#prefix) || message.method !== undefined) return false;
    this.#waiting.get(id)?.(message);
    this.#waiting.delete(id);
    return true;
  }

  /** The approver that asks through the client. */
  get approver(): Approver {
    return {
      name: 'mcp elicitation',
      isAvailable: () => askByResult.getStore() !== undefined || this.#client !== undefined,
      // The judge may be one of several sessions: the call knows its own.
      ask: (card, signal) => askByResult.getStore()?.(card) ?? this.#ask(card, signal),
    };
  }

  #ask(card: QuestionCard, signal: AbortSignal): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const id = `${this.#prefix}${++this.#count}`;
      const by = `${this.#client} (elicitation)`;
      signal.addEventListener('abort', () => this.#withdraw(id, reject), { once: true });
      this.#waiting.set(id, ({ result }) => {
        const approved = readFormAnswer(result);
        if (approved === undefined) reject(new Error('the person at the client did not answer'));
        else resolve({ approved, by });
      });
      this.#send({ jsonrpc: '2.0', id, method: 'elicitation/create', params: requestForm(card) });
    });
  }

  /** Takes a question back that was answered elsewhere. */
  #withdraw(id: string, reject: (error: Error) => void): void {
    if (!this.#waiting.delete(id)) return;
    const params = { requestId: id, reason: 'answered elsewhere' };
    this.#send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    reject(new Error('the question was withdrawn'));
  }

  #send(message: object): void {
    this.#toClient(Buffer.from(`${JSON.stringify(message)}\n`));
  }
}
