/** Guards a tool of the AI SDK: values, promises and streams keep their form, and a refusal is a tool error. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Call } from '../../guard/api.ts';
import { type HostCall, hostCall } from '../../guard/entries/host-call.ts';
import {
  delegateToWorker,
  type FallbackOptions,
  fallbackOf,
  makeRefusedError,
  type ToolFallback,
  turnOf,
} from '../host/host-run.ts';
import { mustAsk, wasApproved } from './approval.ts';
import { recordGuardedCall } from './observe-messages.ts';
import type { AiSdkRuns } from './runs.ts';

interface ToolLike {
  readonly execute?: (input: unknown, options: ToolCallOptions) => unknown;
  readonly needsApproval?: boolean | ((input: unknown, options: ToolCallOptions) => unknown);
}

interface ToolCallOptions {
  readonly toolCallId?: string;
  readonly abortSignal?: AbortSignal;
  readonly messages?: readonly unknown[];
}

export function protectTool(
  name: string,
  tool: unknown,
  runs: AiSdkRuns,
  { workers = [], ...options }: FallbackOptions & { readonly workers?: readonly string[] | undefined } = {},
): unknown {
  if (!isTool(tool)) return tool; // The provider or the client runs this tool; its calls are seen only in the messages.
  const { needsApproval } = tool;
  const pendingApprovals = new Set<string>();
  const fallback = fallbackOf(options, name);
  const execute = workers.includes(name)
    ? (input: unknown, callOptions: ToolCallOptions) => delegateTool(name, tool, runs, input, callOptions)
    : (input: unknown, callOptions: ToolCallOptions) =>
        callTool({ name, tool, runs, pendingApprovals, fallback }, input, callOptions);
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, {
    execute,
    needsApproval: async (input: unknown, options: ToolCallOptions): Promise<unknown> => {
      if (!mustAsk(runs, name, input, options.toolCallId)) {
        return typeof needsApproval === 'function' ? needsApproval(input, options) : needsApproval;
      }
      pendingApprovals.add(options.toolCallId ?? '');
      return true;
    },
  });
}

/** A guarded tool, with the calls that the SDK was asked to approve. */
interface GuardedTool {
  readonly name: string;
  readonly tool: ToolLike;
  readonly runs: AiSdkRuns;
  readonly pendingApprovals: Set<string>;
  readonly fallback: ToolFallback | undefined;
}

/** Returns a stream for a streaming tool and a promise otherwise, because the SDK checks the returned value. */
function callTool(
  { name, tool, runs, pendingApprovals, fallback }: GuardedTool,
  input: unknown,
  options: ToolCallOptions,
): unknown {
  const id = options.toolCallId;
  const run = runs.runForCall(id);
  const task = run.beginCall();
  recordGuardedCall(task, id);
  const isApproved = () => pendingApprovals.delete(id ?? '') || wasApproved(options.messages, id);
  const host: HostCall = {
    id,
    task,
    turnId: turnOf(task),
    signal: options.abortSignal,
    ask: () => ({ approved: isApproved(), by: 'the user' }),
    canEdit: true,
    fallback,
    isForwarded: () => forwarded !== undefined,
  };
  let forwarded: AsyncGenerator | undefined;
  let isSync = true;
  const hostAnswer = hostCall(
    run.gear,
    name,
    [input],
    (call, [ownInput]) => {
      const result = tool.execute?.(ownInput, addCallSignal(options, call));
      if (!isStream(result)) return result;
      if (!isSync) return readLastChunk(result); // The call had to wait, so a promise was already returned.
      const end = Promise.withResolvers<unknown>();
      forwarded = forwardStream(result, AsyncLocalStorage.snapshot(), end, () => done);
      return end.promise;
    },
    host,
  );
  isSync = false;
  const done = hostAnswer.then((answer) => {
    if ('refusal' in answer) throw makeRefusedError(answer.refusal);
    return answer.value;
  });
  const endCall = () => run.endCall(task);
  done.then(endCall, endCall);
  return forwarded ?? done;
}

/** Runs a tool that is an agent as a delegation. A streamed result is read to its end. */
async function delegateTool(name: string, tool: ToolLike, runs: AiSdkRuns, input: unknown, options: ToolCallOptions) {
  const run = runs.runForCall(options.toolCallId);
  const task = run.beginCall();
  try {
    const answer = await delegateToWorker(run, task, name, input, async () => {
      const result = tool.execute?.(input, options);
      return isStream(result) ? readLastChunk(result) : result;
    });
    if ('refusal' in answer) throw makeRefusedError(answer.refusal);
    return answer.value;
  } finally {
    run.endCall(task);
  }
}

/** Forwards the stream of a tool, chunk by chunk; the call is settled when the stream ends. */
async function* forwardStream(
  stream: AsyncIterable<unknown>,
  runInContext: ReturnType<typeof AsyncLocalStorage.snapshot>,
  end: PromiseWithResolvers<unknown>,
  done: () => Promise<unknown>,
): AsyncGenerator {
  const iterator = runInContext(() => stream[Symbol.asyncIterator]());
  let last: unknown;
  try {
    for (;;) {
      // The call may time out before the stream ends.
      const next = (await Promise.race([runInContext(() => iterator.next()), done()])) as IteratorResult<unknown>;
      if (next.done) break;
      last = next.value;
      yield last;
    }
    end.resolve(last);
    await done();
  } catch (error) {
    end.reject(error);
    throw error;
  } finally {
    end.reject(new DOMException('the stream was not read fully', 'AbortError')); // No effect if the stream has ended.
    await runInContext(() => iterator.return?.());
  }
}

async function readLastChunk(stream: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const chunk of stream) last = chunk;
  return last;
}

/** Adds a signal that also aborts with the call to the options; it is created when the tool reads it. */
function addCallSignal(options: ToolCallOptions, call: Call): ToolCallOptions {
  let signal: AbortSignal | undefined;
  return Object.defineProperty({ ...options }, 'abortSignal', {
    enumerable: true,
    configurable: true,
    get() {
      signal ??= options.abortSignal ? AbortSignal.any([options.abortSignal, call.signal]) : call.signal;
      return signal;
    },
  });
}

export function isTool(tool: unknown): tool is ToolLike & object {
  return typeof (tool as ToolLike | null)?.execute === 'function';
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
