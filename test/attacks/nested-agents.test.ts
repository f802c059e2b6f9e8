/** Attacks on the budget of a run: an agent that starts other agents, whose conversations the run does not see. */

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { agentNode, createTestHome } from '../cli/run/run-cli.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { isWhole } from './held/attempts.ts';
import { play } from './hooked-host.ts';

const agent = fileURLToPath(new URL('./nested-agent.ts', import.meta.url));

/** Runs a script of the stand-in under `switchgear run`; returns the exit code and the halt. */
async function runAgent(script: string, ...flags: readonly string[]) {
  const home = createTestHome();
  for (const name of ['claude', 'gemini', 'codex']) {
    const path = join(home.folder, name);
    writeFileSync(path, `#!/bin/sh\nexec ${agentNode} "${agent}" ${name} "$@"\n`);
    chmodSync(path, 0o755);
  }
  const inner = join(home.folder, 'inner-run');
  writeFileSync(inner, `#!/bin/sh\nNESTED_DEPTH=0 exec ${agentNode} "${bin}" run --quiet -- claude -p "$1"\n`);
  chmodSync(inner, 0o755);
  try {
    const { code, out, err } = await home.run(['run', '--json', ...flags, '--', 'claude', '-p', script], {
      SWITCHGEAR_BIN: bin,
    });
    const lines = out
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { readonly type?: string; readonly code?: string });
    return { code, err, halt: lines.find(({ type }) => type === 'run-halted')?.code };
  } finally {
    home.clear();
  }
}

test('attack 05: nested agents spend the money of the run', async () => {
  const { code, halt, err } = await runAgent('start 4 claude | -p | calls+1,spend+3', '--max-spend', '50');
  assert.equal(halt, 'token_spend_limit', err);
  assert.equal(code, 75);
});

test('attack 05: the calls of nested agents add up below the run', async () => {
  const { halt, err } = await runAgent('start 4 claude | -p | calls+5', '--max-calls', '1');
  assert.equal(halt === 'tree_call_limit' || halt === 'tool_call_limit', true, `${halt} ${err}`);
});

test('attack 05: two levels of nested agents, in parallel, and of another CLI, are booked once each', async () => {
  // Each of two Claude Codes at once makes 2 calls for 24 dollars, and starts a Codex that makes 3 for 5 dollars.
  const nested = 'parallel 2 claude | -p | calls+2,spend+1,start+1+codex+|+-p+|+calls+3^spend+1';
  const limits = (calls: number, dollars: number) => ['--max-tree-calls', `${calls}`, '--max-spend', `${dollars}`];
  const exact = await runAgent(nested, ...limits(10, 58));
  assert.deepEqual([exact.code, exact.halt], [0, undefined], exact.err);
  assert.equal((await runAgent(nested, ...limits(9, 58))).halt, 'tree_call_limit');
  if (!isWhole) return;
  assert.equal((await runAgent(nested, ...limits(10, 57))).halt, 'token_spend_limit');
  const gemini = 'parallel 3 gemini | -p | calls+1,spend+1';
  const below = await runAgent(gemini, ...limits(3, 30));
  assert.deepEqual([below.code, below.halt], [0, undefined], below.err);
  assert.equal((await runAgent(gemini, ...limits(3, 29))).halt, 'token_spend_limit');
});

test('attack 05: a nested `switchgear run` is booked on the run around it', async () => {
  const { halt, err } = await runAgent('start 3 inner-run | spend+2', '--max-spend', '50');
  assert.equal(halt, 'token_spend_limit', err);
});

test('attack 05: a nested agent without the variables of the run is booked on the run', async () => {
  const free = await runAgent(
    'start 4 env | -u | SWITCHGEAR_TASK | claude | -p | calls+1,spend+3',
    '--max-spend',
    '50',
  );
  assert.equal(free.halt, 'token_spend_limit', free.err);
  const run = await runAgent('start 3 env | -u | SWITCHGEAR_TASK | inner-run | spend+2', '--max-spend', '50');
  assert.equal(run.halt, 'token_spend_limit', run.err);
  const named = 'start 4 env | SWITCHGEAR_TASK=other | SWITCHGEAR_SESSION=other | claude | -p | calls+5';
  const other = await runAgent(named, '--max-calls', '1');
  assert.equal(
    other.halt === 'tree_call_limit' || other.halt === 'tool_call_limit',
    true,
    `${other.halt} ${other.err}`,
  );
});

test('attack 05: agents that an agent with hooks starts, or makes up, count on its session', async (context) => {
  const { result, cards } = await play(
    context,
    `import { writeFileSync } from 'node:fs';
     // A nested agent: a process with hooks and a session of its own. Its prompt event comes first.
     writeFileSync('nested.mjs', \`
       import { spawnSync } from 'node:child_process';
       const send = (event) => spawnSync('sh', ['-c', process.env.HOOK], { encoding: 'utf8', input: JSON.stringify(
         { session_id: process.argv[2], cwd: process.cwd(), ...event }) }).stdout;
       send({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
       for (let n = 0; n < 2; n++) {
         const call = { tool_name: 'Bash', tool_use_id: 'n' + n, tool_input: { command: 'nested ' + n } };
         process.stdout.write(send({ hook_event_name: 'PreToolUse', ...call }) === '' ? 'ran ' : 'refused ');
         send({ hook_event_name: 'PostToolUse', ...call, tool_response: { stdout: 'ok' } });
       }
       send({ hook_event_name: 'SessionEnd' });
     \`);
     hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
     const words = { ran: 0, refused: 0 };
     run('c0', 'claude -p', () => {
       for (let n = 0; n < 3; n++)
         for (const word of tool(process.execPath + ' nested.mjs fresh-' + n).stdout.trim().split(' ')) words[word]++;
     });
     console.log(JSON.stringify(words));`,
    { task: { max_tree_calls: 3 } },
  );
  assert.deepEqual(result, { ran: 3, refused: 3 });
  assert.ok(
    cards.some(({ kind, code, task }) => kind === 'halt' && code === 'tree_call_limit' && task === 'hook-s1#1'),
  );
});
