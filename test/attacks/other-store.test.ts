/** An agent that names another store for what it starts, so that it is not guarded there. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { play } from './hooked-host.ts';

/** The source of a nested agent: a process with hooks and a session of its own, which makes one call. */
const nestedProgram = `
import { writeFileSync } from 'node:fs';
writeFileSync('nested.mjs', \`
  import { spawnSync } from 'node:child_process';
  const send = (event) => spawnSync('sh', ['-c', process.env.HOOK], { encoding: 'utf8', input: JSON.stringify(
    { session_id: process.argv[2], cwd: process.cwd(), ...event }) }).stdout;
  const call = { tool_name: 'Bash', tool_use_id: 'n1', tool_input: { command: 'nested' } };
  process.stdout.write(send({ hook_event_name: 'PreToolUse', ...call }) === '' ? 'ran' : 'refused');
\`);
const words = { ran: 0, refused: 0 };
const nest = (variables, session) => {
  const line = 'env ' + variables + ' ' + process.execPath + ' nested.mjs ' + session;
  words[tool(line).stdout]++;
};
`;

/** The numbers of sessions and cards in a store; undefined if the store does not exist. */
function look(path: string) {
  if (!existsSync(path)) return undefined;
  const store = sqliteStore({ path });
  try {
    const tasks = store.tail(0).filter(({ type }) => type === 'task-started').length;
    return { tasks, cards: store.cards().map(({ id }) => id) };
  } finally {
    store.close();
  }
}

const treeLimit = { task: { max_tree_calls: 2 } };

test('attack 18: a nested agent with another store by a variable counts in the guarding one', async (context) => {
  const { result, cards, entries, folder } = await play(
    context,
    `${nestedProgram}
     run('c0', 'claude -p', () => {
       nest('SWITCHGEAR_STORE=sqlite:other.db', 'fresh-0');
       nest('-u SWITCHGEAR_STORE', 'fresh-1');
       nest('-u SWITCHGEAR_STORE XDG_STATE_HOME=' + process.cwd() + '/state', 'fresh-2');
     });
     console.log(JSON.stringify(words));`,
    treeLimit,
    'variable',
  );
  assert.deepEqual(result, { ran: 2, refused: 1 });
  assert.ok(cards.some(({ kind, code }) => kind === 'halt' && code === 'tree_call_limit'));
  const loosened = entries.flatMap((each) => (each.type === 'setting-loosened' ? [[each.name, each.value]] : []));
  assert.deepEqual(loosened, [['SWITCHGEAR_STORE', `sqlite:${join(folder, 'other.db')}`]]);
  const notices = cards.filter(({ id }) => id === 'card-store-hook-s1');
  assert.match(notices[0]?.evidence[0] ?? '', /^a hook below claude-code \(the session s1\) was given another store/);
  assert.deepEqual(look(join(folder, 'other.db')), { tasks: 0, cards: [] });
});

test('attack 18: a hook with another store by its option counts there, and is shown', async (context) => {
  const { result, cards } = await play(
    context,
    `${nestedProgram}
     run('c0', 'claude -p', () => {
       process.env.HOOK += ' --store sqlite:other.db';
       nest('A=1', 'fresh-0');
     });
     console.log(JSON.stringify(words));`,
    treeLimit,
    'variable',
  );
  assert.deepEqual(result, { ran: 1, refused: 0 });
  assert.equal(cards.filter(({ id }) => id === 'card-store-hook-s1').length, 1);
});

test('attack 18: commands below a hooked agent with another store are shown, and trust no policy', async (context) => {
  const { result, cards } = await play(
    context,
    `import { writeFileSync } from 'node:fs';
     writeFileSync('switchgear.toml', 'mode = "observe"\\n');
     const said = [];
     run('c0', 'work', () => {
       for (const words of ['pause --all', 'policy trust', 'run --store memory -- true'])
       {
         const line = 'SWITCHGEAR_STORE=sqlite:other.db ' + process.env.BIN + ' ' + words;
         said.push(tool(line + ' 2>&1; echo code $?').stdout);
       }
     });
     console.log(JSON.stringify(said));`,
    {},
    'variable',
  );
  const [pause, trust, run] = result as unknown as readonly string[];
  assert.match(pause ?? '', /code 0/);
  assert.match(trust ?? '', /refused: this process belongs to claude-code \(the session s1\).*code 1/s);
  assert.match(run ?? '', /warning: this run counts in a store of its own.*code 0/s);
  assert.equal(cards.filter(({ id }) => id === 'card-store-command-s1').length, 1);
});

test('attack 18: a store that the operator named above the host is used as before', async (context) => {
  const outer = newStore(context);
  const { result, cards, entries } = await play(
    context,
    `import { writeFileSync } from 'node:fs';
     // The host is an operator's program, which names a store for the agent that it starts.
     writeFileSync('agent.mjs', \`
       import { spawnSync } from 'node:child_process';
       const call = { tool_name: 'Bash', tool_use_id: 'a', tool_input: { command: 'ls' } };
       const input = JSON.stringify({ session_id: 's9', cwd: process.cwd(), hook_event_name: 'PreToolUse', ...call });
       console.log(spawnSync('sh', ['-c', process.env.HOOK], { encoding: 'utf8', input }).stdout);
     \`);
     console.log(JSON.stringify(tool('SWITCHGEAR_STORE=sqlite:${outer} ' + process.execPath + ' agent.mjs').stdout));`,
    {},
    'variable',
  );
  assert.equal(String(result).trim(), '');
  assert.deepEqual([cards, entries], [[], []]);
  assert.deepEqual(look(outer), { tasks: 1, cards: [] });
});

/** A store that exists and guards nobody. */
function newStore(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-other-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'outer.db');
  sqliteStore({ path }).close();
  return path;
}
