/** Guards a streamed call of a chat model: its text and usage count when the stream ends, breaks off or is cut. */

import { textLengthMax } from '../../core/limits.ts';
import type { Call, Task } from '../../guard/api.ts';
import { hostCall, joinSignals } from '../../guard/entries/host-call.ts';
import { readUntilAbort } from '../host/closing-call.ts';
import { type HostRun, makeHaltFacts, makeRefusedError, refusalText } from '../host/host-run.ts';
import { meterEstimate } from '../host/meter-usage.ts';
import { overrideMethods } from '../host/override-methods.ts';
import { beginModelCall, closingAnswer, observeAnswer, promptLength, readTokens } from '../langchain/model.ts';
import {
  type AiMessageLike,
  type Handler,
  loadMessageClasses,
  loadStreamClass,
  type ModelRequest,
  messageText,
} from '../langchain/shapes.ts';

type Chunks = AsyncIterable<AiMessageLike>;

/** Returns the guarded stream of a model call, of the same class as LangChain's own. */
export async function streamModel(
  run: HostRun,
  request: ModelRequest & { readonly model: string },
  openStream: (signal: AbortSignal) => Promise<Chunks>,
  invoke: Handler<ModelRequest>,
): Promise<unknown> {
  const { IterableReadableStream } = await loadStreamClass();
  const task = beginModelCall(run, request);
  try {
    const left = new AbortController();
    const host = { kind: 'model', task, signal: request.runtime.signal } as const;
    const open = ({ signal }: Call) => openStream(joinSignals(signal, left.signal));
    const answer =
      task.halt === undefined ? await hostCall(run.gear, request.model, [], open, host) : { refusal: task.halt };
    if ('value' in answer) {
      const chunks = observeChunks(run, task, request, readUntilAbort(run.gear, answer.value, left.signal));
      return IterableReadableStream.fromAsyncGenerator(endWhenLeft(chunks, left));
    }
    if (answer.refusal.kind !== 'halt') throw makeRefusedError(answer.refusal);
    const message = (await closingAnswer(run, task, answer.refusal, request, invoke)) as AiMessageLike;
    run.endCall(task);
    return IterableReadableStream.fromAsyncGenerator(yieldOne(await makeChunk({ ...message })));
  } catch (error) {
    run.endCall(task);
    throw error;
  }
}

/** Ends the model call when the reader leaves: a generator alone would wait for the chunk that is under way. */
function endWhenLeft<T>(chunks: AsyncGenerator<T>, left: AbortController): AsyncGenerator<T> {
  return overrideMethods(chunks, {
    async return(value: unknown) {
      left.abort(new DOMException('the stream was left', 'AbortError'));
      return chunks.return(value);
    },
  });
}

async function* yieldOne<T>(value: T): AsyncGenerator<T> {
  yield value;
}

async function makeChunk({ content, response_metadata, usage_metadata }: AiMessageLike): Promise<AiMessageLike> {
  const { AIMessageChunk } = await loadMessageClasses();
  return new AIMessageChunk({ content, response_metadata, ...(usage_metadata && { usage_metadata }) });
}

/** Passes chunks on. A stream that the halt of its task cuts ends with the reason. */
async function* observeChunks(
  run: HostRun,
  task: Task,
  { model, messages, runtime }: ModelRequest & { readonly model: string },
  source: Chunks,
): AsyncGenerator<AiMessageLike> {
  const answer = new StreamedAnswer();
  let isWhole = false;
  try {
    for await (const chunk of source) {
      answer.add(chunk);
      yield chunk;
    }
    isWhole = true;
  } catch (error) {
    const { halt } = task;
    // A model may answer the halt with an error of its own; the host's signal is not the halt.
    if (halt === undefined || runtime.signal?.aborted) throw error;
    yield await makeChunk({ content: refusalText(halt), response_metadata: { switchgear: makeHaltFacts(halt) } });
  } finally {
    if (isWhole) {
      if (!observeAnswer(run, task, answer.toMessage(), model, messages)) run.end(task);
    } else {
      const known = readTokens(answer.toMessage(), model);
      const lengths = { inputLength: promptLength(messages), outputLength: answer.length };
      meterEstimate(run.gear, task, { model: known.model, ...lengths, known, remedy: undefined });
    }
    run.endCall(task); // Also when the stream fails or its reader stops.
  }
}

/** What came of a streamed answer so far. */
class StreamedAnswer {
  #text = '';
  #length = 0;
  readonly #calls: { readonly name: string; args: string }[] = [];
  #usage: Record<string, unknown> | undefined;
  #metadata: Readonly<Record<string, unknown>> = {};

  add(chunk: AiMessageLike): void {
    const text = messageText(chunk);
    this.#length += text.length;
    if (this.#text.length < textLengthMax) this.#text += text;
    for (const { name, args = '' } of (chunk.tool_call_chunks ?? []) as readonly { name?: string; args?: string }[]) {
      if (name) this.#calls.push({ name, args: '' });
      this.#length += args.length;
      const last = this.#calls.at(-1);
      if (last !== undefined && last.args.length < textLengthMax) last.args += args;
    }
    this.#metadata = { ...this.#metadata, ...chunk.response_metadata };
    if (chunk.usage_metadata !== undefined) this.#usage = addCounts(this.#usage ?? {}, chunk.usage_metadata);
  }

  /** Characters of texts and arguments. */
  get length(): number {
    return this.#length;
  }

  toMessage(): AiMessageLike {
    return {
      type: 'ai',
      content: this.#text,
      tool_calls: this.#calls,
      response_metadata: this.#metadata,
      ...(this.#usage && { usage_metadata: this.#usage }),
    };
  }
}

/** Adds the counts of a chunk: providers report input with the first and output with the last. */
function addCounts(total: Record<string, unknown>, counts: object): Record<string, unknown> {
  const sum = { ...total };
  for (const [name, count] of Object.entries(counts)) {
    const before = sum[name];
    if (typeof count === 'number') sum[name] = (typeof before === 'number' ? before : 0) + count;
    else if (typeof count === 'object' && count !== null) sum[name] = addCounts(Object(before ?? {}), count);
  }
  return sum;
}
