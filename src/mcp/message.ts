/** JSON-RPC messages as the relay reads and writes them: one per line. */

import { nameLengthMax } from '../core/limits.ts';
import { type Envelope, EnvelopeScanner } from './envelope.ts';

/** A message of unknown shape; every member is checked where it is used. */
export type RpcMessage = Readonly<Record<string, unknown>>;

/** The id of a request as JSON text: equal for equal ids, and exact for numbers of any size. */
export type MessageId = string;

/** Parses a line; undefined if it is no JSON, or neither an object nor a list. */
export function parseLine(line: Buffer): RpcMessage | readonly unknown[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
  return typeof value === 'object' && value !== null ? (value as RpcMessage) : undefined;
}

/** The id of a message; undefined if it has none. */
export function readId(message: RpcMessage, line: Buffer): MessageId | undefined {
  const { id } = message;
  if (typeof id === 'string') return JSON.stringify(id);
  if (typeof id !== 'number') return undefined;
  // A number that JavaScript cannot hold exactly is read from the text.
  return Number.isSafeInteger(id) ? String(id) : normalizeId(scanLine(line).id);
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

/** A line with the result of a request. */
export function makeResultLine(id: MessageId, result: object): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}\n`);
}

/** Codes of own errors, outside of the range that JSON-RPC and MCP reserve. */
export const errorCodes = { serverLost: 7501, tooLong: 7502, batchRefused: 7503 } as const;

/** A line with an error as the answer to a request. */
export function makeErrorLine(id: MessageId, code: number, message: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}\n`);
}

/** A line that tells the server that nobody waits for the answer to a request any more. */
export function makeCancelLine(id: MessageId, reason: string): Buffer {
  const params = `{"requestId":${id},"reason":${JSON.stringify(reason)}}`;
  return Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}\n`);
}

/** The id of a call that agent CLIs also give to their hooks: Claude Code sends it with each call. */
export function readHostId(params: RpcMessage | undefined): string | undefined {
  const id = readObject(params?._meta)?.['claudecode/toolUseId'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}
