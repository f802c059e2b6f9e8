/**
 * An agent that asks a model at its base URL and does what the model says, as real ones do: it ends when an answer has
 * no call. `node gateway-agent.ts [ARGUMENTS…]`; with stream-json it prints the lines of Claude Code, with the usage.
 * GATEWAY_HEADERS are headers of its requests, in JSON.
 */

import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: { readonly sleepMs?: number };
  readonly text?: string;
}

interface Message {
  readonly id: string;
  readonly content: readonly Block[];
  readonly usage: object;
}

const args = process.argv.slice(2);
const prompt = args[args.indexOf('-p') + 1] ?? 'work';
const session_id = args[args.indexOf('--resume') + 1 || args.length] ?? 'session-1';
const print = (line: object) => {
  if (args.includes('stream-json')) process.stdout.write(`${JSON.stringify({ session_id, ...line })}\n`);
};
const base = process.env.ANTHROPIC_BASE_URL ?? '';
if (process.env.GATEWAY_LOG) appendFileSync(process.env.GATEWAY_LOG, `${base}\n`);
const model = 'claude-sonnet-4-5';
const messages: object[] = [{ role: 'user', content: prompt }];

print({ type: 'system', subtype: 'init', model });
for (;;) {
  const answer = await fetch(`${base}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...JSON.parse(process.env.GATEWAY_HEADERS ?? '{}') },
    body: JSON.stringify({ model, max_tokens: 1_000, tools: [{ name: 'Bash' }], messages }),
  });
  if (!answer.ok) {
    console.error(`status ${answer.status}: ${await answer.text()}`);
    process.exit(3);
  }
  const message = (await answer.json()) as Message;
  print({ type: 'assistant', parent_tool_use_id: null, message: { ...message, role: 'assistant', model } });
  messages.push({ role: 'assistant', content: message.content });
  const calls = message.content.filter(({ type }) => type === 'tool_use');
  if (calls.length === 0) {
    const text = message.content.map((block) => block.text ?? '').join('');
    if (!args.includes('stream-json')) console.log(text);
    print({ type: 'result', subtype: 'success', is_error: false, result: text, total_cost_usd: 99 });
    break;
  }
  const results = [];
  for (const { id, input } of calls) {
    await sleep(input?.sleepMs ?? 0);
    results.push({ type: 'tool_result', tool_use_id: id, content: 'no such file' });
  }
  print({ type: 'user', parent_tool_use_id: null, message: { role: 'user', content: results } });
  messages.push({ role: 'user', content: results });
}
