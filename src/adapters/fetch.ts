/**
 * The adapter of `fetch` for provider SDKs: counts the usage in each response, with a breaker for each provider and
 * model.
 */

import { fetchBodyMax, nameLengthMax } from '../core/limits.ts';
import type { Refusal } from '../core/refusal.ts';
import type { Call, Switchgear, Task } from '../guard/api.ts';
import { defaultSwitchgear } from '../guard/create-switchgear.ts';
import { hostCall, joinSignals } from '../guard/entries/host-call.ts';
import { isClass, unknownThing } from './host/check-thing.ts';
import { readUntilAbort } from './host/closing-call.ts';
import { guardOnce, reportGuarded } from './host/guard-once.ts';
import { makeHaltFacts, makeRefusedError, refusalText } from './host/host-run.ts';
import { meterEstimate, meterUsage, usageRemedies } from './host/meter-usage.ts';
import { createUsageReader } from './host/provider-usage.ts';

/** Options of `protect` for `fetch`. */
export interface FetchOptions {
  /**
   * The gear to use.
   * @default defaultSwitchgear()
   */
  readonly gear?: Switchgear;
  /**
   * The task of the requests.
   * @default the task around the request
   */
  readonly task?: Task;
}

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Returns a guarded `fetch` of the same type, for `new OpenAI({ fetch })` or `new Anthropic({ fetch })`.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { protect } from 'switchgear/adapters/fetch';
 *
 * const gear = createSwitchgear({ agent: 'writer' });
 * const guardedFetch = protect(fetch, { gear });
 * const response = await guardedFetch('https://example.com');
 */
export function protect<F>(fetch: F, options: FetchOptions = {}): F {
  const { gear = defaultSwitchgear(), task: taskOption } = options;
  if (typeof fetch !== 'function' || isClass(fetch))
    throw unknownThing('fetch', fetch, 'write new OpenAI({ fetch: protect(fetch) })');
  const send = fetch as unknown as Fetch;

  const guarded: Fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const model = readModel(init?.body);
    const task = taskOption ?? gear.currentTask();
    const name = `${url.host}/${model || url.pathname}`.slice(0, nameLengthMax);
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const run = (call: Call) => {
      // The signal of the task also ends a body that arrives after the call.
      const own = task === undefined ? call.signal : joinSignals(call.signal, task.signal);
      return send(input, { ...init, signal: joinSignals(own, signal) });
    };
    const answer = await hostCall(gear, name, [], run, { kind: 'model', task, signal });
    if ('refusal' in answer) return makeRefusedResponse(answer.refusal);
    return answer.value.ok && task !== undefined
      ? meterResponse(answer.value, gear, task, model, init?.body)
      : answer.value;
  };
  reportGuarded(gear, 'fetch', ['every request']);
  return guardOnce(fetch, gear, () => guarded as F & Fetch);
}

/**
 * Reads the usage while the response passes through, and counts it when the body ends, its reader stops or the task
 * halts: then the body breaks off with the refusal.
 */
function meterResponse(
  response: Response,
  gear: Switchgear,
  task: Task,
  requestedModel: string,
  request: unknown,
): Response {
  if (response.body === null) return response;
  const reader = createUsageReader(fetchBodyMax);
  const decoder = new TextDecoder();
  const chunks = readUntilAbort(gear, response.body as AsyncIterable<Uint8Array<ArrayBuffer>>, task.signal);
  let isMetered = false;
  const meter = (isWhole: boolean) => {
    if (isMetered) return;
    isMetered = true;
    const usage = reader.end();
    const writtenLength = reader.uncountedLength();
    const model = usage?.model ?? requestedModel;
    if (writtenLength !== undefined && model !== '') {
      meterEstimate(gear, task, {
        model,
        inputLength: typeof request === 'string' ? request.length : 0,
        outputLength: writtenLength,
        known: usage,
        remedy: isWhole ? usageRemedies.fetch : undefined,
      });
    } else if (usage !== undefined) meterUsage(gear, task, { ...usage, model });
  };
  const body = new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (!done) {
          reader.append(decoder.decode(value, { stream: true }));
          task.observe({ type: 'heartbeat' });
          if (value.byteLength > 0) controller.enqueue(value);
          return;
        }
        meter(true);
        controller.close();
        controller.byobRequest?.respond(0);
      } catch (error) {
        meter(false);
        throw task.halt === undefined ? error : makeRefusedError(task.halt);
      }
    },
    async cancel() {
      meter(false);
      await chunks.return(undefined);
    },
  });
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
}

/** A refusal as a response, which the SDKs turn into their own error. The header tells them not to retry. */
function makeRefusedResponse(refusal: Refusal): Response {
  const facts = makeHaltFacts(refusal);
  const error = { ...facts, type: 'switchgear_refused', message: refusalText(refusal) };
  const headers = { 'content-type': 'application/json', 'x-should-retry': 'false' };
  const response = new Response(JSON.stringify({ type: 'error', error }), { status: 403, headers });
  return Object.defineProperty(response, 'switchgear', { value: facts }); // For `haltOf`, before the body is read.
}

function readModel(body: unknown): string {
  if (typeof body !== 'string' || body.length > fetchBodyMax) return '';
  try {
    const { model } = JSON.parse(body) as { readonly model?: unknown };
    return typeof model === 'string' ? model : '';
  } catch {
    return '';
  }
}
