/** Agents that use an MCP server through the proxy: `switchgear mcp`, put into their configuration by `init --mcp`. */

import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bin } from '../harness/switchgear-bin.ts';
import type { Client } from './clients.ts';
import type { Call, Turn } from './mock-model.ts';
import type { Asked } from './requests.ts';
import type { Stage } from './stage.ts';
import { calls, mustEnd, type Story, story } from './stories.ts';

const server = { command: process.execPath, args: [fileURLToPath(new URL('./docs-server.ts', import.meta.url))] };

/** The calls that reached the server, as it got them. */
function reached(on: Stage): readonly string[] {
  const path = join(on.folder, 'docs.log');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.filter((line) => line.includes('"tools/call"'));
}

/** Writes the server into the configuration of the client, and puts the proxy before it. */
async function configure({ name }: Client, on: Stage, isProxied: boolean): Promise<void> {
  const entry = { ...server, env: { DOCS_LOG: join(on.folder, 'docs.log') } };
  const change = (path: string, more: object) => {
    const file = join(on.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    const known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    writeFileSync(file, JSON.stringify({ ...known, ...more }));
  };
  if (name === 'codex') {
    const { command, args } = isProxied ? proxied : entry;
    // Without `required` Codex asks the model before the server has started.
    const lines = [
      '[mcp_servers.docs]',
      'required = true',
      `command = ${JSON.stringify(command)}`,
      `args = ${JSON.stringify(args)}`,
    ];
    const env = [`env = { DOCS_LOG = "${entry.env.DOCS_LOG}", SWITCHGEAR_STORE = "sqlite:${on.folder}/state.db" }`];
    appendFileSync(join(on.folder, '.codex/config.toml'), ['', ...lines, ...env, ''].join('\n'));
    return;
  }
  if (name === 'claude') change('.claude/settings.json', { permissions: { allow: ['mcp__docs'] } });
  change(name === 'claude' ? '.claude.json' : '.gemini/settings.json', { mcpServers: { docs: entry } });
  if (!isProxied) return;
  // Gemini CLI passes only some variables on to its servers.
  const store = ['--store', `sqlite:${on.folder}/state.db`];
  mustEnd(await on.switchgear('init', name === 'claude' ? 'claude-code' : 'gemini', '--mcp', ...store), 0);
}

const proxied = {
  command: process.execPath,
  args: [bin, 'mcp', '--name', 'docs', '--', server.command, ...server.args],
};

/** A call of a tool of the server, as the model makes it. */
function use({ name }: Client, tool: string, page: string): Call {
  if (name === 'gemini') return { tool: `mcp_docs_${tool}`, input: { page } };
  if (name === 'codex') return { tool, namespace: 'mcp__docs', input: { page } };
  return { tool: `mcp__docs__${tool}`, input: { page } };
}

/** The failures that the breaker of the failing tool has counted. */
async function counted(on: Stage): Promise<readonly number[]> {
  const journal = await on.journal();
  return journal.flatMap((entry) =>
    entry.type === 'failure-counted' && entry.name === 'mcp__docs__fail' ? [entry.actual] : [],
  );
}

/** Lines of the server's log without what each run of a client makes up: ids, times and folders. */
function compare(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/"turn_started_at_unix_ms":\d+/g, '"turn_started_at_unix_ms":0');
}

/** Eight calls of a failing tool, each with other arguments. */
const failing = ({ step }: Asked, client: Client): Turn =>
  step < 8 ? calls(use(client, 'fail', `page ${step}`)) : { text: 'It fails.' };

const looking = ({ step }: Asked, client: Client): Turn =>
  step < 4 ? calls(use(client, 'look', `page ${step}`)) : { text: 'All is well.' };

const command = `${process.execPath} ${bin}`;
/** A script of the agent that hands back every halted task, and closes every breaker. */
const way = `for id in $(${command} inbox list --json | grep -o 'card-[a-zA-Z0-9-]*' | sort -u); do
  ${command} inbox replan $id
done
${command} reset --all
`;
const noPages = '[[rules]]\ncondition = "ability:mcp__docs__fail"\naction = "abort"\nreason = "no page may fail"\n';

/** A call that halts the session, an attempt to hand it back, and a further call. */
const leaving = ({ step }: Asked, client: Client): Turn => {
  const turns = [use(client, 'fail', 'a page'), client.shell('sh ./way.sh 2>&1'), use(client, 'look', 'a page')];
  return step < turns.length ? calls(turns[step]!) : { text: 'I have tried what I could.' };
};

export const mcpStories: Readonly<Record<string, Story>> = {
  'mcp stopped': story(failing, async (on, client) => {
    await configure(client, on, true);
    mustEnd(await on.alone(''), 0);
    assert.equal(reached(on).length, 5);
    assert.deepEqual(await counted(on), [1, 2, 3, 4, 5]);
    const texts = on.asked
      .map(({ last }) => last)
      .filter((last) => /mcp__docs__fail/.test(last) && /breaker/i.test(last));
    assert.ok(texts.length >= 3, `the model was told ${texts.length} times: ${on.asked.at(-1)?.last}`);
    return `a failing tool was reached 5 times in ${on.mock.turns()} turns`;
  }),

  'mcp healthy': async (client, installed) => {
    const logs: string[] = [];
    for (const isProxied of [false, true]) {
      const tell = story(looking, async (on) => {
        await configure(client, on, isProxied);
        mustEnd(await on.alone(''), 0);
        assert.equal(reached(on).length, 4);
        return readFileSync(join(on.folder, 'docs.log'), 'utf8');
      });
      logs.push(await tell(client, installed));
    }
    assert.equal(compare(logs[1]!), compare(logs[0]!));
    return `${logs[1]!.length} bytes reached the server, with the proxy as without it`;
  },

  'mcp wants out': story(leaving, async (on, client) => {
    writeFileSync(join(on.folder, 'work', 'way.sh'), way);
    await configure(client, on, true);
    await on.alone(noPages);
    assert.deepEqual(reached(on), []);
    const told = on.asked.find(({ last }) => /refused: this process belongs to/.test(last))?.last ?? '';
    assert.match(told, /a client of the MCP proxy docs/, on.asked.map(({ last }) => last.slice(-500)).join('\n'));
    assert.equal(told.match(/refused: this process belongs to/g)?.length, 2, told);
    const [card] = await on.cards();
    assert.deepEqual([card?.kind, card?.state], ['halt', 'open']);
    return 'without hooks, the agent could not hand back its halted session';
  }),

  'mcp with hooks': story(failing, async (on, client) => {
    mustEnd(await on.switchgear('init', client.host), 0);
    await configure(client, on, true);
    await on.alone('');
    assert.equal(reached(on).length, 5);
    assert.deepEqual(await counted(on), [1, 2, 3, 4, 5]);
    assert.ok(on.wereHooksAsked());
    return 'five failures, each counted once';
  }),
};
