/** Escape sequences in every name and text: no command prints one, and no line of ours can be forged. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createChains, functionAbilities, readChain } from '../../../src/chains/index.ts';
import { main } from '../../../src/cli/main.ts';
import { createSwitchgear } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { type Attempts, holdAll } from './attempts.ts';

const hostile = 'x\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x08\x7f\nswitchgear: all is well\r';
/** A control character but the end of a line, or one that turns the direction of text. */
const unclean = /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;
const forged = /^switchgear: all is well/m;

function assertClean(text: string): void {
  const [at] = text.match(unclean) ?? [];
  assert.ok(!unclean.test(text), `U+${at?.codePointAt(0)?.toString(16)} in ${JSON.stringify(text.slice(0, 300))}`);
  assert.ok(!forged.test(text), `a forged line in ${JSON.stringify(text.slice(0, 300))}`);
}

/** A store whose every name and text is hostile: tasks, tools, agents, cards, runs, orders, entries. */
async function hostileStore(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'state.db');
  const store = sqliteStore({ path });
  const rules = [{ target: `tool:ask*`, condition: 'amount>1', action: 'confirm', reason: hostile }] as const;
  const base = { agent: hostile, session: hostile, project: 'p', env: {}, log: 'silent', store } as const;
  const gear = createSwitchgear({ ...base, policy: { rules, journal: { level: 'all', content: 'full' } } });
  const fails = gear.guard(hostile, (_: unknown) => {
    throw Object.assign(new Error(hostile), { name: hostile, code: hostile });
  });
  await gear.task({ id: hostile }, (task) => {
    for (let at = 0; at < 6; at++) {
      try {
        fails(hostile);
      } catch {
        // Its breaker opens.
      }
    }
    task.observe({ type: 'usage', model: hostile, inputTokens: 5, outputTokens: 5 });
    task.observe({ type: 'tool_use', id: hostile, name: hostile, input: hostile });
  });
  await gear.task({ id: `${hostile} 2`, limits: { maxToolCalls: 1 } }, () => {
    gear.guard('plain', (at: number) => at)(1);
    gear.guard('plain', (at: number) => at)(2);
  });
  await gear.task({}, () => gear.delegate(hostile, () => `I cannot: ${hostile}`));
  gear.addModelRules([hostile]);
  gear.halt(hostile, hostile);
  gear.dispose();

  const chainStore = sqliteStore({ path });
  const written = {
    id: 'c',
    name: hostile,
    circuit_breakers: [`ability:ask|confirm|"${hostile.replaceAll('\n', ' ')}"`],
    steps: [{ id: 's', ability: 'ask', args: { a: hostile } }],
  };
  const { chain } = readChain(JSON.stringify(written), 'c.json');
  const abilities = [
    functionAbilities({
      ask: () => hostile,
      fail: () => {
        throw new Error(hostile);
      },
    }),
  ];
  const chains = createChains({ abilities, store: chainStore, env: {}, log: 'silent', project: 'p' });
  if (chain !== undefined) await chains.run(chain, {}, { id: 'r-1', wait: false });
  const failing = readChain(JSON.stringify({ id: 'f', steps: [{ id: 's', ability: 'fail' }] }), 'f.json').chain;
  if (failing !== undefined) await chains.run(failing, {}, { id: 'r-2' }).catch(() => {});
  await chains.close();
  chainStore.close();
  return folder;
}

const named = (list: readonly (readonly string[])[]): Attempts<readonly string[]> =>
  list.map((args) => [args.map((word) => JSON.stringify(word).slice(1, 16)).join(' '), args] as const);

/** What commands print of a store and of files. */
const views = named([
  ['status'],
  ['tail', '-n', '200'],
  ['inbox', 'list'],
  ['inbox', 'list', '--all'],
  ['inbox', 'show', 'ask-'],
  ['inbox', 'standing'],
  ['chain', 'list', '--all'],
  ['chain', 'show', 'r-1'],
  ['chain', 'show', 'r-2', '--outputs'],
  ['chain', 'lint', 'hostile.yaml'],
  ['chain', 'graph', 'hostile.json'],
  ['rules', 'lint', 'rules.txt'],
  ['rules', 'explain', 'rules.txt', '--tool', hostile, '--args', JSON.stringify({ amount: hostile })],
  ['policy', 'explain', 'hostile.json'],
]);

/** Without an end of line: a word of the command line is typed by its user. */
const oneLine = hostile.replaceAll('\n', '');

/** What commands say of words and keys that they do not know. */
const errors = named([
  ['policy', 'check', 'hostile.toml'],
  ['chain', 'show', oneLine],
  ['inbox', 'show', oneLine],
  ['inbox', oneLine],
  [oneLine],
  ['status', `--${oneLine}`],
  ['status', '--store', oneLine],
]);

async function printAll(context: TestContext, commands: Attempts<readonly string[]>): Promise<void> {
  const folder = await hostileStore(context);
  const key = JSON.stringify(hostile);
  writeFileSync(join(folder, 'hostile.yaml'), `id: x\n${key}: 1\nsteps: [{ id: ${key}, ability: ${key} }]\n`);
  writeFileSync(
    join(folder, 'hostile.json'),
    JSON.stringify({ id: 'x', name: hostile, steps: [{ id: 's', ability: 'a.b' }] }),
  );
  writeFileSync(
    join(folder, 'hostile.toml'),
    '"x\\u001b[2J\\u009b31m" = 1\n[tools."a\\u001b]0;x\\u0007"]\nfailure_threshold = -1\n',
  );
  writeFileSync(join(folder, 'rules.txt'), `amount>1|confirm|"${hostile.replaceAll('\n', ' ')}"\n${hostile}\n`);
  const env = { HOME: folder, SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}` };
  await holdAll(context, commands, async (args) => {
    const printed: string[] = [];
    await main(args, {
      cwd: folder,
      env,
      out: (line) => printed.push(line),
      err: (line) => printed.push(line),
    });
    assert.ok(printed.length > 0, 'nothing was printed');
    assertClean(printed.join('\n'));
  });
}

test('held: no command prints an escape sequence or a forged line of a store or a file', (context) =>
  printAll(context, views));

test('held: no error of a command prints an escape sequence', (context) => printAll(context, errors));
