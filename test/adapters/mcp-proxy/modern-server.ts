/**
 * A server of the protocol of 2026-07-28, and of older ones: it asks within a call, tells progress, and reports changed
 * lists. By stdio, or by HTTP on the socket that `PORT` names.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const anything = fromJsonSchema<Record<string, unknown>>({ type: 'object' });
const answer = (text: string) => ({ content: [{ type: 'text' as const, text }] });

/** @param announce Tells everybody who listens that the tools have changed. */
function makeServer(announce?: () => void): McpServer {
  const server = new McpServer({ name: 'modern', version: '1' }, { capabilities: { tools: { listChanged: true } } });
  server.registerTool('echo', { inputSchema: anything }, async (input) => answer(JSON.stringify(input)));
  server.registerTool('ask', { inputSchema: anything }, async (_input, { mcpReq }) => {
    const given = mcpReq.inputResponses as object | undefined;
    if (given !== undefined) return answer(`answered: ${JSON.stringify(given)}`);
    const requestedSchema = { type: 'object' as const, properties: { colour: { type: 'string' as const } } };
    const question = inputRequired.elicit({ message: 'Which colour?', requestedSchema });
    return inputRequired({ inputRequests: { question }, requestState: 'sealed by the server' });
  });
  server.registerTool('steps', { inputSchema: anything }, async (_input, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [1, 2, 3])
      if (progressToken !== undefined)
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
    return answer('three steps');
  });
  server.registerTool('change', { inputSchema: anything }, async () => {
    if (announce === undefined) server.sendToolListChanged();
    else announce();
    return answer('announced');
  });
  server.registerTool('hang', { inputSchema: anything }, async (_input, { mcpReq }) => {
    await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve, { once: true }));
    return answer('never seen');
  });
  server.registerTool('fail', { inputSchema: anything }, async () => ({ ...answer('out of paper'), isError: true }));
  return server;
}

function serveHttp(socket: string): void {
  const handler = createMcpHandler(() => makeServer(() => handler.notify.toolsChanged()), { legacy: 'reject' });
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const fetch = async (request: Request) => {
    if (!(await isLegacyRequest(request))) return handler.fetch(request);
    const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
    return (known ?? (await beginSession(sessions))).handleRequest(request);
  };
  createServer((request, response) => {
    serve(fetch, request, response).catch(() => response.destroy());
  }).listen(socket);
}

/** A session of an older client. */
async function beginSession(sessions: Map<string, WebStandardStreamableHTTPServerTransport>) {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await makeServer().connect(transport);
  return transport;
}

async function serve(
  fetch: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parts = await incoming.toArray();
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const { method = 'GET', headersDistinct } = incoming;
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value) => [name, value] as [string, string]),
  );
  const body = method === 'POST' ? Buffer.concat(parts) : null;
  const { signal } = gone;
  const answered = await fetch(new Request('http://127.0.0.1/mcp', { method, headers, body, signal }));
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  if (answered.body === null) response.end();
  else await pipeline(Readable.fromWeb(answered.body), response);
}

if (process.env.PORT === undefined) serveStdio(() => makeServer());
else serveHttp(process.env.PORT);
