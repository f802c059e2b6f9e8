/**
 * Reads the payload of a hook from stdin, until the deadline of the hook. A thread of Node reads, so that a pipe that
 * nobody closes does not keep the timer from firing; a stream would load modules that an ordinary hook does not need.
 */

import { read } from 'node:fs';
import { hookPayloadBytesMax } from '../../core/limits.ts';
import type { Payload } from '../../hooks/hosts/hook-event.ts';
import type { Terminal } from '../command.ts';

/** Characters of a payload in which the name of its event is searched if the payload cannot be used. */
const payloadHeadLength = 65_536;

/** The payload, or why it cannot be used and whether its event comes, or may come, before a call. */
type PayloadRead = { readonly payload: Payload } | UnusablePayload;

interface UnusablePayload {
  readonly problem: string;
  readonly isBeforeCall: boolean;
  /** Whether a thread still waits for stdin; then the process cannot exit by itself. */
  readonly isStuck?: boolean;
}

/** Matches the name of the event before a call; hosts write it before the input of the call. */
const beforeCall = /"hook_event_name"\s*:\s*"(?:PreToolUse|BeforeTool)"/;
const anyEvent = /"hook_event_name"\s*:\s*"\w+"/;

/** Reads the payload of the hook, up to the size limit and until a time of this process. */
export async function readPayload({ input }: Terminal, dueMs: number): Promise<PayloadRead> {
  const parts: Buffer[] = [];
  const isLate = await isLateBy(dueMs, input === undefined ? readStdin(parts) : readStream(input, parts));
  const text = Buffer.concat(parts).toString('utf8');
  const head = text.slice(0, payloadHeadLength);
  // An event without a name may be a call.
  const isBeforeCall = beforeCall.test(head) || !anyEvent.test(head);
  if (isLate) {
    const problem = `stdin was not closed within ${Math.round(dueMs / 1000)} s`;
    return { problem, isBeforeCall, isStuck: input === undefined };
  }
  if (sizeOf(parts) > hookPayloadBytesMax) return { problem: 'the input on stdin is too long', isBeforeCall };
  try {
    const payload: unknown = JSON.parse(text);
    if (typeof payload === 'object' && payload !== null && !Array.isArray(payload))
      return { payload: payload as Payload };
  } catch {
    // Invalid JSON and JSON that is not an object get the same message below.
  }
  return { problem: `stdin must be one JSON object, got ${JSON.stringify(text.slice(0, 60))}`, isBeforeCall };
}

/** Ends a process of which a thread waits for stdin: an ordinary exit would wait for that thread. */
export function endStuckProcess(code: number): void {
  // Not on Windows. The environment is empty, so that no variable changes what the shell does.
  process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {});
}

function sizeOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Whether a time of this process comes before the end of some work. */
function isLateBy(dueMs: number, work: Promise<void>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(true), Math.max(0, dueMs - process.uptime() * 1000));
    work.then(() => resolve(false), reject).finally(() => clearTimeout(timer));
  });
}

async function readStream(stream: AsyncIterable<unknown>, parts: Buffer[]): Promise<void> {
  for await (const part of stream) {
    parts.push(Buffer.from(part as Buffer));
    if (sizeOf(parts) > hookPayloadBytesMax) return;
  }
}

/** Reads stdin without a stream, unless stdin does not wait for data. */
async function readStdin(parts: Buffer[]): Promise<void> {
  for (let bytes = 0; bytes <= hookPayloadBytesMax; ) {
    const part = await readPart();
    if (part === 'not ready') return readStream(process.stdin, parts);
    if (part.length === 0) return;
    parts.push(part);
    bytes += part.length;
  }
}

function readPart(): Promise<Buffer | 'not ready'> {
  const part = Buffer.alloc(65_536);
  return new Promise((resolve, reject) => {
    read(0, part, 0, part.length, null, (error, bytes) => {
      if (error === null) resolve(part.subarray(0, bytes));
      else if (error.code === 'EOF') resolve(part.subarray(0, 0));
      else if (error.code === 'EAGAIN') resolve('not ready');
      else reject(error);
    });
  });
}
