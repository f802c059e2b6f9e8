/** JSON-RPC messages as the relay reads and writes them: one per line. */

import { nameLengthMax } from '../core/limits.ts';
import { type Envelope, EnvelopeScanner } from './envelope.ts';

/** A message of unknown shape; every member is checked where it is used. */
export type RpcMessage = Readonly<Record<string, unknown>>;

/** The id of a request as JSON text: equal for equal ids, and exact for numbers of any size. */
export type MessageId = string;

/** Parses a line; undefined if it is no JSON, or neither an object nor a list. */
export function parseLine(line: Buffer): RpcMessage | readonly unknown[] | undefined {
  return parseMessage(line.toString('utf8'));
}

/** Parses the text of a line. */
function parseMessage(text: string): RpcMessage | readonly unknown[] | undefined {
  let value: unknown;
  try {
    // Some readers skip a byte order mark.
    value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch {
    return undefined;
  }
  return typeof value === 'object' && value !== null ? (value as RpcMessage) : undefined;
}

/** Lines that were read before they reached their session, with what they hold. */
const knownLines = new WeakMap<Buffer, KnownLine>();

interface KnownLine {
  readonly text: string;
  readonly message: RpcMessage | readonly unknown[] | undefined;
}

/** Reads a line that a session gets as the same buffer, so that it is parsed once. */
export function readAhead(line: Buffer): KnownLine['message'] {
  const known = readLine(line);
  knownLines.set(line, known);
  return known.message;
}

/** The text of a line, and the message in it. */
export function readLine(line: Buffer): KnownLine {
  const known = knownLines.get(line);
  if (known !== undefined) {
    knownLines.delete(line); // Its text may be long.
    return known;
  }
  const text = line.toString('utf8');
  return { text, message: parseMessage(text) };
}

/** Parses a line so that all its numbers are written again as they came. */
export function parseExactly(line: Buffer): unknown {
  return exactJson.parse(line.toString('utf8'), (_name, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? exactJson.rawJSON(source) : value,
  );
}

/** Whether a value is a number that was parsed exactly. */
export function isRawNumber(value: unknown): boolean {
  return exactJson.isRawJSON(value);
}

/** JSON with the functions that the types of the compiler do not have yet. */
const exactJson = JSON as unknown as {
  parse(
    text: string,
    revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** The id of a message; undefined if it has none. */
export function readId(message: RpcMessage, line: Buffer): MessageId | undefined {
  const { id } = message;
  if (typeof id === 'string') return JSON.stringify(id);
  if (typeof id !== 'number') return undefined;
  // A number that JavaScript cannot hold exactly is read from the text.
  return Number.isSafeInteger(id) ? String(id) : normalizeId(scanLine(line).id);
}

/** The ids of the requests in a message or a list of messages. */
export function readRequestIds(message: RpcMessage | readonly unknown[] | undefined, line: Buffer) {
  const messages = (Array.isArray(message) ? message : [message]).map(readObject);
  const requests = messages.filter((each) => typeof each?.method === 'string');
  return requests.map((each) => readId(each!, line)).filter((id) => id !== undefined);
}

/** An id as JSON text, written in one way. */
export function normalizeId(token: string | undefined): MessageId | undefined {
  if (token === undefined) return undefined;
  if (token.startsWith('"')) {
    try {
      return JSON.stringify(JSON.parse(token));
    } catch {
      return undefined;
    }
  }
  return /^-?\d/.test(token) ? token : undefined;
}

export function scanLine(line: Buffer): Envelope {
  const envelope = new EnvelopeScanner();
  envelope.scan(line);
  return envelope;
}

export function readObject(value: unknown): RpcMessage | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as RpcMessage) : undefined;
}

/** Whether a request carries the version of its protocol, as every request does since 2026-07-28. */
export function isModern(params: RpcMessage | undefined): boolean {
  const meta = readObject(params?._meta);
  return typeof meta?.['io.modelcontextprotocol/protocolVersion'] === 'string';
}

/** The name of the client, from its handshake, or since 2026-07-28 from any request. */
export function readClientName({ params }: RpcMessage): string | undefined {
  const { clientInfo, _meta } = readObject(params) ?? {};
  const info = readObject(clientInfo) ?? readObject(readObject(_meta)?.['io.modelcontextprotocol/clientInfo']);
  return typeof info?.name === 'string' && info.name !== '' ? info.name.slice(0, nameLengthMax) : undefined;
}

/** The tools in the result of `tools/list`. */
export function listTools(result: unknown): readonly RpcMessage[] {
  const tools = readObject(result)?.tools;
  return Array.isArray(tools) ? tools.map(readObject).filter((each) => each !== undefined) : [];
}

/** Whether every client takes a message as the answer to its request. */
export function isWholeAnswer(message: RpcMessage): boolean {
  const { jsonrpc, id: _, result, error, ...rest } = message;
  if (jsonrpc !== '2.0' || Object.keys(rest).length > 0 || (result === undefined) === (error === undefined))
    return false;
  return readObject(result ?? error) !== undefined;
}

/** A line with the result of a request. */
export function makeResultLine(id: MessageId, result: object): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}\n`);
}

/** Codes of own errors, outside of the range that JSON-RPC and MCP reserve. */
export const errorCodes = {
  serverLost: 7501,
  tooLong: 7502,
  batchRefused: 7503,
  notJudged: 7504,
  cancelled: 7505,
} as const;

/** A line with an error as the answer to a request. */
export function makeErrorLine(id: MessageId, code: number, message: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}\n`);
}

/** A line that tells the server that nobody waits for the answer to a request any more. */
export function makeCancelLine(id: MessageId, reason: string): Buffer {
  const params = `{"requestId":${id},"reason":${JSON.stringify(reason)}}`;
  return Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}\n`);
}

/** The id of a call that agent CLIs also give to their hooks: Claude Code and Codex send it with each call. */
export function readHostId(params: RpcMessage | undefined): string | undefined {
  const meta = readObject(params?._meta);
  // Other clients may have a `callId` of their own.
  const isCodex = readObject(meta?.['x-codex-turn-metadata']) !== undefined;
  const id = meta?.['claudecode/toolUseId'] ?? (isCodex ? meta?.callId : undefined);
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** Why a client gave up a call: its own time limit, as the official clients write it. */
const timeoutReason = /\btime[d -]*out\b/i;

/** Which request a client gave up, and why. */
export function readCancellation({ params }: RpcMessage) {
  const { requestId, reason } = readObject(params) ?? {};
  const text = typeof reason === 'string' ? reason : '';
  return { id: normalizeId(JSON.stringify(requestId)), reason: text, isTimeOut: timeoutReason.test(text) };
}
