/** A server of the protocol of 2026-07-28: it asks within a call, tells progress, and reports changed lists. */

import { fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const anything = fromJsonSchema<Record<string, unknown>>({ type: 'object' });
const answer = (text: string) => ({ content: [{ type: 'text' as const, text }] });

serveStdio(
  () => {
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
    server.registerTool('hang', { inputSchema: anything }, async (_input, { mcpReq }) => {
      await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve, { once: true }));
      return answer('never seen');
    });
    return server;
  },
  { legacy: 'reject' },
);
