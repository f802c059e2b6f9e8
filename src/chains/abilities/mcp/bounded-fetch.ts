/** A `fetch` for MCP servers behind a URL that limits the length of each message: the server is not trusted. */

import { mcpMessageBytesMax } from '../../../core/limits.ts';

/** The message for a server that sent too much. */
export const excessMessage = `it sent a message of more than ${mcpMessageBytesMax} bytes`;

/** A `fetch` whose response body fails when a message is too long; `onExcess` is called first. */
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

/** Limits each line of an event stream, which itself may be endless, and the whole body of any other response. */
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
