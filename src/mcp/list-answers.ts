/** The answers to `tools/list` in a session: read, and passed without the tools that are hidden. */

import type { Envelope } from './envelope.ts';
import { pendingMax } from './limits.ts';
import type { LineVerdict } from './line-relay.ts';
import type { ListedTools } from './listed-tools.ts';
import {
  errorCodes,
  listTools,
  makeErrorLine,
  normalizeId,
  parseExactly,
  type RpcMessage,
  readId,
  readObject,
} from './message.ts';
import type { OwnRequests } from './own-requests.ts';
import { isList, type PendingRequests } from './pending-requests.ts';
import { reasons } from './refused-result.ts';

/** What the lists need of their session. */
export interface ListSession {
  /** Whether the server said that it announces changes of its list. */
  isAnnounced(): boolean;
  /** Opens the judge. */
  open(): Promise<unknown>;
  /** Reads a line of the server again. */
  readLine(line: Buffer): LineVerdict;
  /** Notes an answer of the server. */
  settle(message: RpcMessage, line: Buffer): void;
}

/** Pages of a list that are read again after a restart. */
const pagesMax = 20;

const toolsChanged = Buffer.from('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n');

export class ListAnswers {
  /** Tools that declare the schema of their structured content. */
  readonly withOutputSchema = new Set<string>();
  readonly #pending: PendingRequests;
  readonly #toClient: (line: Buffer) => void;
  readonly #session: ListSession;
  #tools: ListedTools | 'lost' | undefined;
  #isUsed = false;

  constructor(pending: PendingRequests, toClient: (line: Buffer) => void, session: ListSession) {
    this.#pending = pending;
    this.#toClient = toClient;
    this.#session = session;
  }

  /** Keeps lists while the judge is being opened. */
  wait(): void {
    this.#tools = undefined;
  }

  /** Begins to limit lists; without `tools` nothing can be judged, and no list passes. */
  open(tools: ListedTools | undefined): void {
    this.#tools = tools ?? 'lost';
    if (tools === undefined) return;
    tools.onChange = () => {
      if (this.#session.isAnnounced()) this.#toClient(toolsChanged);
    };
  }

  /** Reads a message with an answer to `tools/list`; undefined if it has none, or passes as it is. */
  read(message: RpcMessage | readonly unknown[], line: Buffer): LineVerdict | undefined {
    if (this.#pending.lists === 0) return undefined;
    const messages: readonly unknown[] = Array.isArray(message) ? message : [message];
    const isAnswer = (each: unknown) => {
      const answer = readObject(each);
      return (
        answer !== undefined && typeof answer.method !== 'string' && isList(this.#pending.find(readId(answer, line)))
      );
    };
    const answers = messages.map(isAnswer);
    if (!answers.includes(true)) return undefined;
    if (this.#tools === undefined) {
      this.#hold(line);
      return 'drop';
    }
    messages.forEach((each, index) => {
      if (answers[index]) this.#readPage(each as RpcMessage, line);
    });
    const limited = messages.map((each, index) => (answers[index] ? this.#limit(each as RpcMessage) : undefined));
    if (limited.every((each) => each === undefined)) return undefined;
    for (const each of messages) if (readObject(each)) this.#session.settle(each as RpcMessage, line);
    return this.#rewrite(limited, line);
  }

  /** Serializes a changed message with its numbers as they came; a message that is nested too deep becomes an error. */
  #rewrite(limited: readonly (RpcMessage | undefined)[], line: Buffer): LineVerdict {
    try {
      const exact = parseExactly(line);
      const changed = (Array.isArray(exact) ? exact : [exact]).map((each: RpcMessage, index) =>
        limited[index] === undefined ? each : this.#limit(each),
      );
      return Buffer.from(`${JSON.stringify(Array.isArray(exact) ? changed : changed[0])}\n`);
    } catch {
      for (const each of limited) {
        const id = each === undefined ? undefined : readId(each, line);
        if (id !== undefined) this.#toClient(makeErrorLine(id, errorCodes.tooLong, reasons.listTooLong));
      }
      return 'drop';
    }
  }

  /** Whether the client has asked for the list. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Asks a server that was started again for its tools, and compares them with those that are pinned. */
  readAgain(own: OwnRequests): void {
    let pages = 0;
    const ask = (cursor: string | undefined) => {
      own.send('tools/list', cursor === undefined ? {} : { cursor }, ({ result }) => {
        const page = readObject(result);
        const tools = this.#tools;
        if (page === undefined || typeof tools !== 'object') return;
        tools.readPage(page, cursor === undefined);
        if (listTools(page).some(({ name }) => tools.judge(String(name))?.code === 'tool_changed')) tools.onChange?.();
        if (typeof page.nextCursor === 'string' && ++pages < pagesMax) ask(page.nextCursor);
      });
    };
    ask(undefined);
  }

  /** Keeps a list until the judge is open. */
  #hold(line: Buffer): void {
    const held = Buffer.from(line);
    void this.#session.open().then(() => {
      const verdict = this.#session.readLine(held);
      if (verdict !== 'drop') this.#toClient(verdict === 'pass' ? held : verdict);
    });
  }

  #readPage(message: RpcMessage, line: Buffer): void {
    this.#isUsed = true;
    for (const { name, outputSchema } of listTools(message.result)) {
      if (outputSchema !== undefined && this.withOutputSchema.size < pendingMax)
        this.withOutputSchema.add(String(name));
    }
    const pending = this.#pending.find(readId(message, line));
    const result = readObject(message.result);
    if (typeof this.#tools === 'object' && isList(pending) && result !== undefined)
      this.#tools.readPage(result, pending.isFirstPage === true);
  }

  #limit(message: RpcMessage): RpcMessage | undefined {
    if (this.#tools === 'lost' || this.#tools === undefined) return refuseList(message);
    return limitList(this.#tools, message);
  }

  /** Whether a message that is too long to be read may be a list that the policy limits. */
  isLimited({ top, id, method }: Envelope): boolean {
    if (this.#pending.lists === 0 || (typeof this.#tools === 'object' && !this.#tools.isLimited)) return false;
    if (top === 'array') return true;
    return method === undefined && (id === undefined || isList(this.#pending.find(normalizeId(id))));
  }

  /** Whether a line that is no JSON here, but may be for a client, must not pass. Answers in its place. */
  refuseUnreadable(envelope: Envelope): boolean {
    const isMessage = envelope.top === 'array' || (envelope.top === 'object' && envelope.id !== undefined);
    if (!isMessage || !this.isLimited(envelope)) return false;
    this.endLong(envelope);
    return true;
  }

  /** Answers in place of a message that was too long to be read. */
  endLong({ top, id }: Envelope): void {
    for (const pending of this.#pending.list()) {
      const isIt = top === 'array' ? isList(pending) : pending === this.#pending.find(normalizeId(id));
      if (!isIt || pending.id === undefined) continue;
      this.#toClient(makeErrorLine(pending.id, errorCodes.tooLong, reasons.listTooLong));
      if (isList(pending)) this.#pending.remove(pending);
    }
  }
}

/** An answer to `tools/list` without the tools that are hidden; undefined if none is. */
function limitList(tools: ListedTools, message: RpcMessage): RpcMessage | undefined {
  const result = readObject(message.result);
  if (!Array.isArray(result?.tools)) return undefined;
  const isShown = (tool: unknown) => !tools.hides(String(readObject(tool)?.name));
  const shown = result.tools.map(isShown);
  if (!shown.includes(false)) return undefined;
  const isCacheable = ['resultType', 'ttlMs', 'cacheScope'].some((name) => Object.hasOwn(result, name));
  const limited = { ...result, tools: result.tools.filter((_, index) => shown[index]) };
  return { ...message, result: isCacheable ? { ...limited, cacheScope: 'private' } : limited };
}

/** The answer to `tools/list` where nothing can be judged. */
function refuseList({ jsonrpc, id }: RpcMessage): RpcMessage {
  return { jsonrpc, id, error: { code: errorCodes.notJudged, message: reasons.cannotJudge } };
}
