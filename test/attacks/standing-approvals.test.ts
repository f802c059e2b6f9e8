/** A standing approval holds where it was given, for what it was given: file, step, server and program. */

import assert from 'node:assert/strict';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createChains } from '../../src/chains/run/chains.ts';
import { main } from '../../src/cli/main.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { chainOf, counting, person, step } from '../chains/run/run-setup.ts';

const toolServer = fileURLToPath(new URL('../chains/abilities/mcp/tool-server.ts', import.meta.url));
const patient = { timeout: 120_000 };

/** A user with one store and several folders, each with a chain that asks before its steps. */
function createUser(context: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'switchgear-standing-'));
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const store = ['--store', `sqlite:${join(home, 'state.db')}`];
  const policy = join(home, 'policy.toml');
  writeFileSync(policy, '[abilities]\nshell = true\n');
  const command = async (...args: readonly string[]) => {
    const out: string[] = [];
    const note = (line: string) => out.push(line);
    const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: home };
    const code = await main([...args, ...store], { cwd: home, env, out: note, err: note, input: process.stdin });
    return { code, out: out.join('\n') };
  };
  let runs = 0;
  return {
    home,
    command,
    folder(name: string, files: Readonly<Record<string, string>>): string {
      const folder = join(home, name);
      mkdirSync(folder, { recursive: true });
      for (const [file, text] of Object.entries(files)) {
        writeFileSync(join(folder, file), text);
        if (file.endsWith('.sh')) chmodSync(join(folder, file), 0o755);
      }
      return folder;
    },
    /** Runs the chain of a folder: done, or waiting for an answer. */
    async run(folder: string): Promise<'done' | 'asked'> {
      const args = [join(folder, 'chain.yaml'), '--no-wait', '--policy', policy, '--id', `r${++runs}`];
      const { code, out } = await command('chain', 'run', ...args);
      assert.ok(code === 0 || code === 6, out);
      return code === 0 ? 'done' : 'asked';
    },
    /** Approves the open questions of the last run for always, and resumes it until it is done. */
    async approveAlways(): Promise<number> {
      for (let asked = 0; ; asked++) {
        const cards = JSON.parse((await command('inbox', 'list', '--json')).out) as { readonly id: string }[];
        if (cards.length === 0) return asked;
        for (const { id } of cards) await command('inbox', 'approve', id, '--for', 'always');
        const { code, out } = await command('chain', 'resume', `r${runs}`, '--no-wait', '--policy', policy);
        assert.ok(code === 0 || code === 6, out);
      }
    },
  };
}

const deployChain = (...args: readonly string[]) =>
  [
    'id: deploy',
    'circuit_breakers: ["ability:*|confirm|really deploy?"]',
    'steps:',
    `  - { id: go, ability: shell.execute, args: { ${args.join(', ')} } }`,
    '',
  ].join('\n');

test('attack 03: a yes for always does not hold in a cloned folder with another script', patient, async (context) => {
  const user = createUser(context);
  const chain = deployChain('command: ./deploy.sh', 'args: []');
  const mine = user.folder('mine', { 'chain.yaml': chain, 'deploy.sh': '#!/bin/sh\necho mine\n' });
  assert.equal(await user.run(mine), 'asked');
  await user.approveAlways();
  assert.equal(await user.run(mine), 'done', 'it holds where it was given');
  const cloned = user.folder('cloned', { 'chain.yaml': chain, 'deploy.sh': '#!/bin/sh\ntouch ../stolen\n' });
  assert.equal(await user.run(cloned), 'asked');
  const same = join(user.home, 'same');
  cpSync(mine, same, { recursive: true });
  assert.equal(await user.run(same), 'asked', 'also with the same files in another place');
  assert.equal(existsSync(join(user.home, 'stolen')), false);
  const link = join(user.home, 'link');
  symlinkSync(mine, link);
  assert.equal(await user.run(link), 'done', 'a link to the folder is the folder');
  const listed = await user.command('inbox', 'standing');
  assert.match(listed.out, /deploy: step go .* in .*\/mine\/chain\.yaml/);
});

for (const [how, args] of Object.entries({
  'a program in the folder': ['command: ./deploy.sh', 'args: []'],
  'a script of an interpreter': ['command: sh', 'args: [deploy.sh]'],
  'a script in a line of the shell': ['command: "cd . && sh ./deploy.sh; true"'],
})) {
  test(`attack 03: a yes for always ends when ${how} changes`, patient, async (context) => {
    const user = createUser(context);
    const files = { 'chain.yaml': deployChain(...args), 'deploy.sh': '#!/bin/sh\necho mine\n' };
    const folder = user.folder('mine', files);
    await user.run(folder);
    await user.approveAlways();
    assert.equal(await user.run(folder), 'done');
    user.folder('mine', { ...files, 'deploy.sh': '#!/bin/sh\ntouch ../stolen\n' });
    assert.equal(await user.run(folder), 'asked');
    assert.equal(existsSync(join(user.home, 'stolen')), false);
  });
}

test('attack 03: a yes for always ends when the MCP server of the step changes', patient, async (context) => {
  const user = createUser(context);
  const chain = [
    'id: talk',
    'circuit_breakers: ["ability:tools.*|confirm"]',
    'steps:',
    '  - { id: go, ability: tools.json, args: { a: 1 } }',
    '',
  ].join('\n');
  const mcp = (args: readonly string[], env: object = {}) =>
    JSON.stringify({ mcpServers: { tools: { command: process.execPath, args: [toolServer, ...args], env } } });
  const folder = user.folder('mine', { 'chain.yaml': chain, '.mcp.json': mcp([]) });
  await user.run(folder);
  await user.approveAlways();
  assert.equal(await user.run(folder), 'done');
  user.folder('mine', { '.mcp.json': mcp(['--verbose']) });
  assert.equal(await user.run(folder), 'asked', 'other arguments of the server');
  await user.command('inbox', 'decline', 'ask-');
  user.folder('mine', { '.mcp.json': mcp([], { NODE_OPTIONS: '--no-warnings' }) });
  assert.equal(await user.run(folder), 'asked', 'another environment of the server');
  await user.command('inbox', 'decline', 'ask-');
  user.folder('mine', { '.mcp.json': mcp([]) });
  assert.equal(await user.run(folder), 'done', 'the approved server');
});

test('attack 03: an answered question does not run a program that was changed meanwhile', patient, async (context) => {
  const user = createUser(context);
  const chain = deployChain('command: ./deploy.sh', 'args: []');
  const folder = user.folder('mine', { 'chain.yaml': chain, 'deploy.sh': '#!/bin/sh\necho mine\n' });
  assert.equal(await user.run(folder), 'asked');
  const cards = JSON.parse((await user.command('inbox', 'list', '--json')).out) as { id: string; input: string }[];
  assert.match(cards[0]?.input ?? '', /\.\/deploy\.sh/);
  await user.command('inbox', 'approve', cards[0]!.id);
  user.folder('mine', { 'deploy.sh': '#!/bin/sh\ntouch ../stolen\n' });
  const resumed = await user.command('chain', 'resume', 'r1', '--no-wait', '--policy', join(user.home, 'policy.toml'));
  assert.equal(resumed.code, 6, resumed.out);
  assert.equal(existsSync(join(user.home, 'stolen')), false);
});

test('attack 03: a yes for always on one step does not let another step of the rule pass', async () => {
  const ann = person({ approved: true, for: 'always' });
  const chains = createChains({ abilities: [counting()], store: memoryStore(), approver: ann, log: 'silent', env: {} });
  const chain = chainOf([step('go'), step('trade', { args: { amount: 900 } })], ['ability:*|confirm']);
  assert.equal((await chains.run(chain)).status, 'done');
  assert.deepEqual(
    ann.cards.map((card) => card.step?.id),
    ['go', 'trade'],
  );
  assert.equal((await chains.run(chain)).status, 'done');
  assert.equal(ann.cards.length, 2);
});

test('attack 03: a yes for the run does not hold for another server of a later step', async () => {
  const store = memoryStore();
  let server = 'mine';
  const abilities = counting();
  const resolved = {
    ...abilities,
    find: async (name: string) => ({ ...(await abilities.find(name))!, identify: () => ({ server }) }),
  };
  const asked: string[] = [];
  const ask = async (card: { readonly step?: { readonly id: string } }) => {
    asked.push(card.step?.id ?? '');
    return { approved: true, by: 'ann', for: 'run' } as const;
  };
  const chains = createChains({
    store,
    abilities: [resolved],
    approver: { name: 'ann', ask },
    log: 'silent',
    env: {},
    onRun: (event) => {
      if (event.type === 'step-ended' && event.step.id === 'two') server = 'evil';
    },
  });
  await chains.run(chainOf(['one', 'two', 'three'], ['ability:*|confirm']));
  assert.deepEqual(asked, ['one', 'three']);
});

test('attack 03: a program that changes after the approval is asked about again', async () => {
  let version = 1;
  const abilities = counting();
  const resolved = {
    ...abilities,
    find: async (name: string) => ({ ...(await abilities.find(name))!, identify: () => ({ version }) }),
  };
  const ann = person({ approved: true });
  const chains = createChains({
    store: memoryStore(),
    abilities: [resolved],
    approver: ann,
    log: 'silent',
    env: {},
    onRun: (event) => {
      if (event.type === 'question-answered' && ann.cards.length === 1) version = 2;
    },
  });
  assert.equal((await chains.run(chainOf(['pay'], ['ability:pay|confirm']))).status, 'done');
  assert.equal(ann.cards.length, 2);
  assert.deepEqual(abilities.ran, ['pay']);
});

test('attack 03: a yes for always does not hold for other parameters of the step', async () => {
  const ann = person({ approved: true, for: 'always' });
  const chains = createChains({ abilities: [counting()], store: memoryStore(), approver: ann, log: 'silent', env: {} });
  const pay = step('pay', { args: { amount: '{{amount}}' } });
  const chain = chainOf([pay, step('log', { args: { note: '{{note}}' } })], ['ability:pay|confirm']);
  assert.equal((await chains.run(chain, { amount: '10', note: 'a' })).status, 'done');
  assert.equal((await chains.run(chain, { amount: '10', note: 'b' })).status, 'done');
  assert.equal(ann.cards.length, 1, 'a parameter of another step does not matter');
  assert.equal((await chains.run(chain, { amount: '10000', note: 'a' })).status, 'done');
  assert.equal(ann.cards.length, 2);
});

const twoSteps = [
  'id: deploy',
  'circuit_breakers: ["ability:*|confirm|really deploy?"]',
  'steps:',
  '  - { id: build, ability: shell.execute, args: { command: ./build.sh, args: [] } }',
  '  - { id: go, ability: shell.execute, args: { command: ./deploy.sh, args: [] } }',
  '',
].join('\n');

test('attack 03: a yes for the run does not run a program that was changed meanwhile', patient, async (context) => {
  const user = createUser(context);
  // The first step replaces the program of the second one.
  const build = "#!/bin/sh\nprintf '#!/bin/sh\\ntouch ../stolen\\n' > deploy.sh\n";
  const files = { 'chain.yaml': twoSteps, 'build.sh': build, 'deploy.sh': '#!/bin/sh\necho mine\n' };
  const folder = user.folder('mine', files);
  assert.equal(await user.run(folder), 'asked');
  const cards = JSON.parse((await user.command('inbox', 'list', '--json')).out) as { id: string }[];
  await user.command('inbox', 'approve', cards[0]!.id, '--for', 'run');
  const resume = ['chain', 'resume', 'r1', '--no-wait', '--policy', join(user.home, 'policy.toml')];
  const resumed = await user.command(...resume);
  assert.equal(resumed.code, 6, resumed.out);
  assert.equal(existsSync(join(user.home, 'stolen')), false);
});

test('attack 03: a yes for the run holds for its unchanged programs', patient, async (context) => {
  const user = createUser(context);
  const files = { 'chain.yaml': twoSteps, 'build.sh': '#!/bin/sh\ntrue\n', 'deploy.sh': '#!/bin/sh\ntrue\n' };
  assert.equal(await user.run(user.folder('mine', files)), 'asked');
  const cards = JSON.parse((await user.command('inbox', 'list', '--json')).out) as { id: string }[];
  await user.command('inbox', 'approve', cards[0]!.id, '--for', 'run');
  const resume = ['chain', 'resume', 'r1', '--no-wait', '--policy', join(user.home, 'policy.toml')];
  assert.equal((await user.command(...resume)).code, 0);
});

test('attack 03: a yes for always ends when a program outside of the folder changes', patient, async (context) => {
  const user = createUser(context);
  const tools = user.folder('tools', { 'deploy.sh': '#!/bin/sh\necho mine\n' });
  const chain = deployChain(`command: ${join(tools, 'deploy.sh')}`, 'args: []');
  const folder = user.folder('mine', { 'chain.yaml': chain });
  await user.run(folder);
  await user.approveAlways();
  assert.equal(await user.run(folder), 'done');
  user.folder('tools', { 'deploy.sh': '#!/bin/sh\ntouch ../stolen\n' });
  assert.equal(await user.run(folder), 'asked');
  assert.equal(existsSync(join(user.home, 'stolen')), false);
});

test('attack 03: a program that changes after every approval ends the step, and does not run', async () => {
  let version = 1;
  const abilities = counting();
  const resolved = {
    ...abilities,
    find: async (name: string) => ({ ...(await abilities.find(name))!, identify: () => ({ version }) }),
  };
  const ann = person({ approved: true });
  const chains = createChains({
    store: memoryStore(),
    abilities: [resolved],
    approver: ann,
    log: 'silent',
    env: {},
    onRun: (event) => {
      if (event.type === 'question-answered' && ann.cards.length < 100) version++;
    },
  });
  assert.equal((await chains.run(chainOf(['pay'], ['ability:pay|confirm']))).status, 'failed');
  assert.deepEqual([ann.cards.length, abilities.ran], [5, []]);
});
