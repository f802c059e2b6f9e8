/** Watches a web stream in place: it keeps its identity, its class, and its byte readers. */

import type { CallEnding } from './call.ts';

/** Receives the chunks, the failure and the end of a stream. */
export interface WatchedSource {
  /** Ends the stream when it is cut. */
  close: ((error: unknown) => void) | undefined;
  chunk(): void;
  end(ending: CallEnding): void;
  stop(): void;
  request<T>(run: () => T, onAnswer: (answer: Awaited<T>) => void): T;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Replaces a method of an object by one that watches its result; the object stays the same. */
export function override(target: object, name: PropertyKey, make: (original: Method) => Method): void {
  const original: unknown = Reflect.get(target, name);
  if (typeof original !== 'function') return;
  Object.defineProperty(target, name, { value: make(original as Method), configurable: true, writable: true });
}

/** Whether a value is a web stream. */
export function isWebStream(value: object): value is ReadableStream {
  return Object.prototype.toString.call(value) === '[object ReadableStream]';
}

interface ReaderLike {
  read(...args: unknown[]): Promise<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(reason?: unknown): Promise<void>;
  releaseLock(): void;
}

/** Watches every way to read a web stream. All of them go through `getReader`. */
export function watchWebStream(stream: ReadableStream, source: WatchedSource): void {
  if (stream.locked) {
    source.end({ value: stream }); // Another reader holds the lock, so the chunks cannot be watched.
    return;
  }
  const close = stream.cancel.bind(stream);
  source.close = (error) => void close(error).catch(() => {});
  const getReader = () => stream.getReader() as ReaderLike;
  override(
    stream,
    'getReader',
    (original) =>
      (...args) =>
        watchReader(original.apply(stream, args) as ReaderLike, stream, source),
  );
  override(stream, 'cancel', (original) => (...args) => {
    if (!stream.locked) source.stop();
    return original.apply(stream, args);
  });
  override(stream, 'pipeTo', () => async (...args) => {
    const isBytes = isByteStream(stream);
    const reader = getReader();
    try {
      await relay(reader, isBytes).pipeTo(...(args as Parameters<typeof stream.pipeTo>));
    } finally {
      reader.releaseLock();
    }
  });
  override(stream, 'pipeThrough', () => (...args) => {
    const [{ readable, writable }, options] = args as Parameters<typeof stream.pipeThrough>;
    if (stream.locked) throw new TypeError('the stream is locked');
    stream.pipeTo(writable, options).catch(() => {}); // The other side gets the error.
    return readable;
  });
  override(stream, 'tee', () => () => {
    const isBytes = isByteStream(stream);
    return relay(getReader(), isBytes).tee();
  });
  const iterate = () => (options?: unknown) => iterateReader(getReader(), options as IterateOptions | undefined);
  override(stream, 'values', iterate);
  override(stream, Symbol.asyncIterator, iterate);
}

/** Watches a reader, of chunks or of bytes. */
function watchReader(reader: ReaderLike, stream: ReadableStream, source: WatchedSource): ReaderLike {
  const { close } = source;
  const cancel = reader.cancel.bind(reader);
  source.close = (error) => void cancel(error).catch(() => {});
  override(
    reader,
    'read',
    (original) =>
      (...args) =>
        source.request(
          () => original.apply(reader, args) as ReturnType<ReaderLike['read']>,
          ({ done }) => (done ? source.end({ value: stream }) : source.chunk()),
        ),
  );
  override(reader, 'cancel', (original) => (...args) => {
    source.stop();
    return original.apply(reader, args);
  });
  override(reader, 'releaseLock', (original) => () => {
    source.close = close;
    return original.apply(reader, []);
  });
  return reader;
}

/** Whether a stream gives its chunks to readers of bytes. */
function isByteStream(stream: ReadableStream): boolean {
  try {
    ReadableStream.prototype.getReader.call(stream, { mode: 'byob' }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

/** Makes a web stream that passes on the chunks of a reader, no earlier than they are read. */
function relay(reader: ReaderLike, isBytes: boolean): ReadableStream {
  const pull = async (controller: ReadableStreamDefaultController | ReadableByteStreamController): Promise<void> => {
    const { done, value } = await reader.read();
    if (!done) (controller as ReadableStreamDefaultController).enqueue(value);
    else {
      controller.close();
      if ('byobRequest' in controller) controller.byobRequest?.respond(0);
    }
  };
  const cancel = (reason: unknown) => reader.cancel(reason);
  return isBytes
    ? new ReadableStream({ type: 'bytes', pull, cancel })
    : new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
}

interface IterateOptions {
  readonly preventCancel?: boolean;
}

/** Iterates over the chunks of a reader, and releases the stream at the end. */
function iterateReader(reader: ReaderLike, options: IterateOptions = {}): AsyncIterableIterator<unknown> {
  return {
    async next() {
      try {
        const { done, value } = await reader.read();
        if (done) reader.releaseLock();
        return { done, value };
      } catch (error) {
        reader.releaseLock();
        throw error;
      }
    },
    async return(value?: unknown) {
      const cancelled = options.preventCancel === true ? undefined : reader.cancel(value);
      reader.releaseLock();
      await cancelled;
      return { done: true, value };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
