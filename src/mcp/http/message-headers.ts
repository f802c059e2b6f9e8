/** The headers of a message that is sent by HTTP. */

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { HttpError } from '../../http/http-error.ts';
import { type RpcMessage, readObject } from '../message.ts';

/** Since 2026-07-28 the headers repeat the version of the protocol, the method, and the name of what is used. */
export function makeMessageHeaders(
  message: RpcMessage | undefined,
  sessionId: string | undefined,
  version: string | undefined,
): OutgoingHttpHeaders {
  const params = readObject(message?.params);
  const ownVersion = readObject(params?._meta)?.['io.modelcontextprotocol/protocolVersion'];
  const isModern = typeof ownVersion === 'string';
  const name = readName(message);
  const sentVersion = isModern ? ownVersion : version;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'user-agent': 'switchgear',
    ...(sessionId !== undefined && !isModern && { 'mcp-session-id': sessionId }),
    ...(sentVersion !== undefined && { 'mcp-protocol-version': encodeHeader(sentVersion) }),
    ...(isModern && typeof message?.method === 'string' && { 'mcp-method': encodeHeader(message.method) }),
    ...(isModern && typeof name === 'string' && { 'mcp-name': encodeHeader(name) }),
  };
}

/**
 * Checks that the headers of a message of 2026-07-28 say the same as its body. Requests must have them; official
 * clients send notifications without.
 */
export function checkMessageHeaders({ headers }: IncomingMessage, message: RpcMessage): void {
  const wanted = makeMessageHeaders(message, undefined, undefined);
  for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name']) {
    const value = headers[name];
    if (value === undefined ? message.id === undefined || wanted[name] === undefined : isSame(value, wanted[name]))
      continue;
    throw new HttpError(400, 'header_mismatch', `the header ${name} does not agree with the message`);
  }
}

/** The parameter that names what a request uses, for the methods whose requests repeat it in a header. */
const nameFields: ReadonlyMap<unknown, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

function readName(message: RpcMessage | undefined): unknown {
  const field = nameFields.get(message?.method);
  return field === undefined ? undefined : readObject(message?.params)?.[field];
}

function isSame(value: unknown, wanted: unknown): boolean {
  return wanted !== undefined && decodeHeader(value) === decodeHeader(wanted);
}

function decodeHeader(value: unknown): string {
  const text = String(value);
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(text) ?? [];
  return encoded === undefined ? text : Buffer.from(encoded, 'base64').toString('utf8');
}

/** A value that a header cannot carry as it is, is written in base64. */
export function encodeHeader(value: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?')) return value;
  return `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
