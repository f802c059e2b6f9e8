/** Sends a call to an upstream again, before any byte of an answer has reached the client. */

import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type createConnections, type OutgoingCall, silenceCode, type Upstream } from './upstreams.ts';

/** Attempts after the first. */
const retriesMax = 2;
const firstWaitMs = 250;
/** The longest wait that an upstream may ask for; after that its answer passes to the client. */
const waitMaxMs = 5_000;
/** Statuses after which the same request may succeed. */
const passingStatuses = new Set([502, 503, 504, 529]);

export async function sendWithRetries(
  connections: ReturnType<typeof createConnections>,
  upstream: Upstream,
  call: OutgoingCall,
): Promise<IncomingMessage> {
  for (let attempt = 0; ; attempt++) {
    let waitMs: number | undefined = waitBefore(attempt);
    try {
      const answer = await connections.send(upstream, call);
      waitMs = attempt < retriesMax ? readWait(answer, waitMs) : undefined;
      if (waitMs === undefined) return answer;
      answer.resume();
    } catch (error) {
      // A client has waited long enough for an upstream that was silent.
      const wasSilent = (error as NodeJS.ErrnoException).code === silenceCode;
      if (attempt >= retriesMax || call.signal.aborted || wasSilent) throw error;
    }
    await sleep(waitMs, undefined, { signal: call.signal });
  }
}

/** The wait before the next attempt: doubled each time, and spread at random. */
function waitBefore(attempt: number): number {
  return firstWaitMs * 2 ** attempt * (0.5 + Math.random());
}

/** How long to wait after an answer; undefined if it is the answer of the call. */
function readWait({ statusCode = 0, headers }: IncomingMessage, usualMs: number): number | undefined {
  const askedMs = readNumber(headers['retry-after-ms']) ?? scaleSecs(readNumber(headers['retry-after']));
  // A rate limit without a time is for the client to wait for.
  if (!passingStatuses.has(statusCode) && !(statusCode === 429 && askedMs !== undefined)) return undefined;
  const waitMs = Math.max(usualMs, askedMs ?? 0);
  return waitMs <= waitMaxMs ? waitMs : undefined;
}

function readNumber(text: string | readonly string[] | undefined): number | undefined {
  return typeof text === 'string' && /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : undefined;
}

function scaleSecs(secs: number | undefined): number | undefined {
  return secs === undefined ? undefined : secs * 1000;
}
