/** Messages in events and on lines. */

import type { StreamEvent } from '../../http/event-stream.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const spaceBytes = Buffer.from(' ');

/** The message of an event, its lines joined by spaces: in JSON a line break between two tokens is no more. */
export function readEventMessage({ data }: StreamEvent): Buffer | undefined {
  if (data.length < 2) return data[0];
  return Buffer.concat(data.flatMap((part) => [part, spaceBytes]));
}

/** A message as one line: line breaks between its tokens become spaces. */
export function toLine(message: Buffer): Buffer {
  const line = Buffer.allocUnsafe(message.length + 1);
  message.copy(line);
  for (const byte of [lineFeed, carriageReturn])
    for (let at = message.indexOf(byte); at !== -1; at = message.indexOf(byte, at + 1)) line[at] = 0x20;
  line[message.length] = lineFeed;
  return line;
}
