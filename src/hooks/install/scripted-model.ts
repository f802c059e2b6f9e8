/** A scripted model on the loopback address that requests shell commands one by one, for testing a real agent. */

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedModel {
  readonly url: string;
  close(): void;
}

/** A turn in the format of one provider: a shell command, or the end. */
type Dialect = (turn: number, command: string | undefined) => readonly (readonly [string, object])[];

export async function startScriptedModel(commands: readonly string[]): Promise<ScriptedModel> {
  let turns = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const path = request.url ?? '';
      const dialect = path.includes('/messages') ? messages : path.includes('/responses') ? responses : undefined;
      if (dialect === undefined || path.includes('count_tokens')) {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":1}');
        return;
      }
      // Requests without tools are for other purposes, such as a title.
      const isTurn = /"tools":\s*\[\s*\{/.test(body);
      stream(response, dialect(turns, isTurn ? commands[turns] : undefined));
      if (isTurn) turns++;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function stream(response: ServerResponse, events: ReturnType<Dialect>): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [type, data] of events) response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  response.end();
}

const messages: Dialect = (turn, command) => {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: `msg_${turn}`, type: 'message', role: 'assistant', model: 'probe', content: [] };
  const isCall = command !== undefined;
  const block = isCall
    ? { type: 'tool_use', id: `toolu_${turn}`, name: 'Bash', input: {} }
    : { type: 'text', text: '' };
  const delta = isCall
    ? { type: 'input_json_delta', partial_json: JSON.stringify({ command, description: 'try a call' }) }
    : { type: 'text_delta', text: 'done' };
  return [
    ['message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } }],
    ['content_block_start', { index: 0, content_block: block }],
    ['content_block_delta', { index: 0, delta }],
    ['content_block_stop', { index: 0 }],
    ['message_delta', { delta: { stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null }, usage }],
    ['message_stop', {}],
  ];
};

const responses: Dialect = (turn, command) => {
  const text = { type: 'output_text', text: 'done', annotations: [] };
  const item =
    command === undefined
      ? { type: 'message', id: `m_${turn}`, role: 'assistant', status: 'completed', content: [text] }
      : {
          type: 'function_call',
          id: `f_${turn}`,
          call_id: `call_${turn}`,
          name: 'exec_command',
          arguments: JSON.stringify({ cmd: command }),
          status: 'completed',
        };
  const usage = { input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1, total_tokens: 2 };
  const response = { id: `r_${turn}`, object: 'response', status: 'completed', output: [item], usage };
  return [
    ['response.created', { response: { ...response, status: 'in_progress', output: [] } }],
    ['response.output_item.done', { output_index: 0, item }],
    ['response.completed', { response }],
  ];
};
