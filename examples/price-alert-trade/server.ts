/** A trading desk as an MCP server: it knows two prices, and keeps what was traded in a file. */

import { appendFileSync } from 'node:fs';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const prices: Readonly<Record<string, number>> = { ACME: 87.5, GLOBEX: 412 };
const { TRADES = 'trades.jsonl' } = process.env;
const text = (value: unknown) => [{ type: 'text' as const, text: JSON.stringify(value) }];

const symbol = { type: 'string' } as const;
const asked = fromJsonSchema<{ symbol: string }>({ type: 'object', properties: { symbol }, required: ['symbol'] });
const order = fromJsonSchema<{ symbol: string; amount: number | string }>({
  type: 'object',
  properties: { symbol, amount: { type: ['number', 'string'] } },
  required: ['symbol', 'amount'],
});

function tradingDesk(): McpServer {
  const server = new McpServer({ name: 'trading', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.registerTool('get_price', { description: 'The price of one share', inputSchema: asked }, (wanted) => {
    const price = prices[wanted.symbol];
    if (price !== undefined) return { content: text(price) };
    return { content: [{ type: 'text', text: `nobody trades ${wanted.symbol}` }], isError: true };
  });
  server.registerTool('execute', { description: 'Buys for an amount', inputSchema: order }, (wanted) => {
    const shares = Math.floor(Number(wanted.amount) / (prices[wanted.symbol] ?? Number.POSITIVE_INFINITY));
    const trade = { symbol: wanted.symbol, shares, amount: Number(wanted.amount) };
    appendFileSync(TRADES, `${JSON.stringify(trade)}\n`);
    return { content: text(trade) };
  });
  return server;
}

serveStdio(tradingDesk);
