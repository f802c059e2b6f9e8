/** Answers of an MCP server behind a URL, none of them longer than a message may be: such a server may be anybody's. */

import { mcpMessageBytesMax } from '../../../core/limits.ts';

/** The message for a server that sent too much. */
export const excessMessage = `it sent a message of more than ${mcpMessageBytesMax} bytes`;

/** `fetch` whose answers end in an error when a message in them is too long; `onExcess` is called first. */
export function boundedFetch(onExcess: () => void): typeof fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
    const body = response.body.pipeThrough(limitMessageSize(isStream, onExcess));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

/** A stream of events may go on for ever, but each of its lines ends; anything else is one message. */
function limitMessageSize(
  isStream: boolean,
  onExcess: () => void,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = isStream ? chunk.lastIndexOf(10) : -1;
      bytes = end < 0 ? bytes + chunk.length : chunk.length - end - 1;
      if (bytes <= mcpMessageBytesMax) return controller.enqueue(chunk);
      onExcess();
      controller.error(new Error(excessMessage));
    },
  });
}
