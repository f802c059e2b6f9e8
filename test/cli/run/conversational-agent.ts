/** An agent that talks to a person and writes down what it does, as Claude Code does: 60 calls, then a spiral. */

import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const session = process.argv[process.argv.indexOf('--session-id') + 1] ?? '';
const folder = join(process.env.HOME ?? '', '.claude', 'projects', 'here');
mkdirSync(folder, { recursive: true });

function write(type: 'user' | 'assistant', message: object): void {
  const line = { type, sessionId: session, isSidechain: false, message: { role: type, ...message } };
  appendFileSync(join(folder, `${session}.jsonl`), `${JSON.stringify(line)}\n`);
}

let calls = 0;
function call(name: string, command: string, content: string, isError: boolean): void {
  const id = `call-${++calls}`;
  const use = { type: 'tool_use', id, name, input: { command } };
  const usage = { input_tokens: 10, output_tokens: 5 };
  write('assistant', { id: `m-${calls}`, model: 'claude-sonnet-4-5', content: [use], usage });
  write('user', { content: [{ type: 'tool_result', tool_use_id: id, content, is_error: isError }] });
}

for (const request of ['look around', 'look on']) {
  write('user', { content: request });
  for (let n = 0; n < 30; n++) call('Read', `file-${calls}`, `content ${calls * 7919}`, false);
  await sleep(1_500);
}
process.stdout.write('both requests are done\n');
write('user', { content: 'now fix it' });
for (let n = 0; n < 600; n++) {
  call('Bash', 'cat missing.yaml', 'no such file', true);
  await sleep(100);
}
