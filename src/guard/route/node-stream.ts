/** Watches a stream of Node in place: its chunks, its end, and the time that its reader waits for a chunk. */

import { override, type WatchedSource } from './web-stream.ts';

export interface NodeStream {
  once(event: string, listener: () => void): unknown;
  on?(event: string, listener: () => void): unknown;
  listenerCount?(event: string): number;
  destroy?(error?: unknown): unknown;
  readonly errored?: unknown;
  readonly readableEnded?: boolean;
  readonly destroyed?: boolean;
}

/** Whether a value is a stream of Node. */
export function isNodeStream(stream: object): stream is NodeStream {
  return (
    'readableEnded' in stream && 'destroyed' in stream && typeof (stream as Partial<NodeStream>).once === 'function'
  );
}

/**
 * Watches a stream of Node. Every way to read it, by events, `pipe` or iteration, calls its `read` until that returns
 * null, and every chunk goes through its `push`.
 */
export function watchNodeStream(stream: NodeStream, source: WatchedSource): void {
  let hasChunk = false;
  let arrive: (() => void) | undefined;
  const answer = () => {
    arrive?.();
    arrive = undefined;
  };
  const ask = () => {
    if (arrive !== undefined || stream.destroyed === true) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    arrive = resolve;
    // The reader hears of a cut by the error of the stream.
    source
      .request(
        () => promise,
        () => {},
      )
      .catch(() => {});
  };
  const onClose = () => {
    answer();
    const { errored } = stream;
    if (errored !== undefined && errored !== null) source.end({ error: errored });
    else if (stream.readableEnded === true) source.end({ value: stream });
    else source.stop();
  };
  source.close = (error) => {
    // An error event without a listener would end the process.
    if (stream.listenerCount?.('error') === 0) stream.on?.('error', () => {});
    stream.destroy?.(error);
  };
  if (stream.destroyed === true) {
    onClose();
    return;
  }
  override(
    stream,
    'push',
    (push) =>
      function pushChunk(this: unknown, ...args) {
        hasChunk = true;
        answer();
        if (args[0] !== null) source.chunk();
        return push.apply(this, args);
      },
  );
  override(
    stream,
    'read',
    (read) =>
      function readChunk(this: unknown, ...args) {
        const chunk = read.apply(this, args);
        // A stream that fills its own buffer reads 0 bytes. That asks for a chunk only if a reader waits for the first.
        const isAsked = args[0] !== 0 || (!hasChunk && (stream.listenerCount?.('readable') ?? 0) > 0);
        if (chunk === null && isAsked && stream.readableEnded !== true) ask();
        return chunk;
      },
  );
  stream.on?.('pause', answer);
  stream.once('close', onClose);
  source.chunk(); // It may be read long after the call, so it has the longer patience from the start.
}
