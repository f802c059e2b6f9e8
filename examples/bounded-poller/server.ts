/** A build server as an MCP server: it counts how often it was asked. */

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

let asked = 0;

function buildServer(): McpServer {
  const server = new McpServer({ name: 'builds', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.registerTool('status', { description: 'How the newest build is' }, () => {
    asked++;
    return { content: [{ type: 'text', text: JSON.stringify({ state: asked < 5 ? 'running' : 'green', asked }) }] };
  });
  server.registerTool('announce', { description: 'Tells everybody that a build is green' }, () => ({
    content: [{ type: 'text', text: 'told' }],
  }));
  return server;
}

serveStdio(buildServer);
