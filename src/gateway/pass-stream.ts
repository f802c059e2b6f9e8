/** Passes the events of a stream to a client, and stops between two of them when it is told to. */

import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { EventSplitter, type StreamEvent } from '../http/event-stream.ts';
import { type CallMeter, isLongEvent } from './call-meter.ts';

export interface StreamGate {
  /** Whether the stream has been ended. */
  readonly isOver: boolean;
  /** Whether the client is gone, so that the rest is only read. */
  readonly isDraining: boolean;
  /** Whether the reservation may be used up, so that the next event has to wait for `pay`. */
  readonly isUsedUp: boolean;
  /** Pays for what has passed; false if the stream has been ended or has to wait for `go`. */
  pay(go: () => void): boolean;
  end(rest: Buffer): void;
  fail(error: unknown): void;
}

/** What came at once. */
interface Batch {
  readonly events: readonly StreamEvent[];
  /** The bytes of all its events. */
  readonly bytes: Buffer;
  /** The next event, and where it begins. */
  next: number;
  offset: number;
  /** The beginning of an event that is too long to be held. */
  readonly part?: Buffer;
}

export function passStream(source: Readable, response: ServerResponse, meter: CallMeter, gate: StreamGate): void {
  const splitter = new EventSplitter();
  const batches: Batch[] = [];
  let isWaiting = false;
  let isFull = false;
  let isEnded = false;

  function write(passed: Buffer): void {
    if (passed.length === 0 || gate.isDraining) return;
    if (response.write(passed) || isFull) return;
    isFull = true;
    source.pause();
    response.once('drain', () => {
      isFull = false;
      resume();
    });
  }

  function resume(): void {
    if (!isWaiting && (!isFull || gate.isDraining)) source.resume();
  }

  /** Reads events up to the one that uses up the reservation; returns their bytes. */
  function readBatch(batch: Batch): Buffer {
    const { events, bytes, offset, part } = batch;
    while (batch.next < events.length) {
      const event = events[batch.next++]!;
      batch.offset += event.length;
      meter.readEvent(event);
      if (gate.isUsedUp) break;
    }
    const passed = bytes.subarray(offset, batch.offset);
    if (batch.next < events.length) return passed;
    batches.shift();
    if (part === undefined) return passed;
    meter.readPart(part);
    return Buffer.concat([passed, part]);
  }

  function pass(): void {
    while (!gate.isOver && !isWaiting && batches.length > 0) {
      write(readBatch(batches[0]!));
      isWaiting = !gate.pay(go);
      if (isWaiting) source.pause();
    }
    if (isEnded && !gate.isOver && !isWaiting) gate.end(splitter.takeHeld());
  }

  function go(): void {
    isWaiting = false;
    pass();
    resume();
  }

  const passRest = collectParts(source, (came) => {
    if (gate.isOver) return;
    // A stream can only be cut between two events, so the beginning of one waits for its end.
    const events = splitter.push(came);
    const batch = { events, bytes: splitter.passed, next: 0, offset: 0 };
    batches.push(isLongEvent(splitter.heldBytes) ? { ...batch, part: splitter.takeHeld() } : batch);
    pass();
  });
  source.on('error', (error) => gate.fail(error));
  source.on('end', () => {
    passRest();
    isEnded = true;
    pass();
  });
}

/**
 * Hands over what comes within one turn of the event loop in one piece: an answer of many small events would otherwise
 * cost a write for each. Returns what hands over the rest at once.
 */
function collectParts(source: NodeJS.ReadableStream, take: (part: Buffer) => void): () => void {
  let parts: Buffer[] = [];
  const handOver = () => {
    const collected = parts;
    parts = [];
    if (collected.length > 0) take(collected.length === 1 ? collected[0]! : Buffer.concat(collected));
  };
  source.on('data', (part: Buffer) => {
    if (parts.push(part) === 1) process.nextTick(handOver);
  });
  return handOver;
}
