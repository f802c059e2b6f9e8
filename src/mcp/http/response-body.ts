/** Reads the bodies of responses. */

import type { IncomingMessage } from 'node:http';
import { EventSplitter } from '../../http/event-stream.ts';
import { messageBytesMax } from '../limits.ts';
import { parseLine, type RpcMessage, readObject } from '../message.ts';
import { readEventMessage } from './event-message.ts';

/** Whether a body is events. Throws for a type that clients read in more than one way. */
export function isEventStream({ headers }: IncomingMessage): boolean {
  const type = headers['content-type'] ?? '';
  // Some clients look for the words anywhere in the type.
  const isEvents = /text\/event-stream/i.test(type);
  if (isEvents && /application\/json/i.test(type)) throw new Error('the content type of its answer is ambiguous');
  return isEvents;
}

/** Reads a whole body; throws if it is longer than the bound. */
export async function collectBody(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > bytesMax) throw new Error('the response is too long');
    parts.push(part);
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** Reads a body to its end, so that its connection can be used again. */
export async function drain(response: IncomingMessage): Promise<void> {
  for await (const _ of response);
}

/** The first answer in a response, from JSON or events. */
export async function readFirstAnswer(response: IncomingMessage): Promise<RpcMessage | undefined> {
  if (!isEventStream(response)) return readObject(parseLine(await collectBody(response, messageBytesMax)));
  const splitter = new EventSplitter();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    for (const event of splitter.push(chunk)) {
      const data = readEventMessage(event);
      const message = data && readObject(parseLine(data));
      if (message !== undefined && message.method === undefined) return message;
    }
  }
  return undefined;
}
