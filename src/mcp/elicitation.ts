/**
 * Asks the person at the client about a call, by a request of our own: for clients that declared in their handshake
 * that they can ask. Its answer is not passed to the server.
 */

import { uniqueId } from '../platform/unique-id.ts';
import type { Answer, Approver } from '../ports/approver.ts';
import { type MessageId, type RpcMessage, readObject } from './message.ts';

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
    const declared = readObject(readObject(params?.capabilities)?.elicitation);
    // A client that names no way can show forms.
    const canAsk = declared !== undefined && (Object.keys(declared).length === 0 || declared.form !== undefined);
    this.#client = canAsk ? String(readObject(params?.clientInfo)?.name ?? 'the client') : undefined;
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
      isAvailable: () => this.#client !== undefined,
      ask: (card, signal) =>
        new Promise<Answer>((resolve, reject) => {
          const id = `${this.#prefix}${++this.#count}`;
          const by = `${this.#client} (elicitation)`;
          signal.addEventListener('abort', () => this.#withdraw(id, reject), { once: true });
          this.#waiting.set(id, ({ result }) => {
            const { action, content } = readObject(result) ?? {};
            if (action === 'accept') resolve({ approved: readObject(content)?.approve === true, by });
            else if (action === 'decline') resolve({ approved: false, by });
            else reject(new Error('the person at the client did not answer'));
          });
          const params = { message: card.evidence.join('\n'), requestedSchema: schema };
          this.#send({ jsonrpc: '2.0', id, method: 'elicitation/create', params });
        }),
    };
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
