/** Attacks of chain steps on the promise that a step ends with everything it started. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { mcpAbilities } from '../../src/chains/abilities/mcp/index.ts';
import { shellAbilities } from '../../src/chains/abilities/shell.ts';
import type { RunState } from '../../src/chains/run/state/run-state.ts';
import { call } from '../chains/abilities/call-ability.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { named, sleeper, until } from '../supervisor/processes.ts';

const home = createTestHome();
after(() => home.clear());
const long = { timeout: 60_000 };
const shell = shellAbilities({ shell: true }, { graceSecs: 1 });

const ways = {
  'leaves its session': (command: string) => `setsid ${command} >/dev/null 2>&1 &`,
  'leaves its session and its environment': (command: string) => `setsid env -i ${command} & sleep 1.6`,
};

for (const [how, makeScript] of Object.entries(ways)) {
  test(`attack 28: a daemon that ${how} ends with a shell step that succeeds`, long, async () => {
    const { command, name } = sleeper();
    await call(shell, 'shell.execute', { command: `${makeScript(command)}\necho done` });
    await until(() => named(name).length === 0);
  });

  test(`attack 28: a daemon that ${how} ends with the timeout of a shell step`, long, async () => {
    const { command, name } = sleeper();
    const limit = new AbortController();
    const running = call(shell, 'shell.execute', { command: `${makeScript(command)}\nsleep 1000` }, limit.signal);
    await until(() => named(name).length === 1);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    limit.abort(new Error('timeout'));
    await assert.rejects(running, /timeout/);
    await until(() => named(name).length === 0);
  });
}

test('attack 28: a detached child of an MCP server ends with the servers of the chain', long, async () => {
  const { command, name } = sleeper();
  const script = join(home.folder, 'server.sh');
  const server = new URL('../chains/abilities/mcp/tool-server.ts', import.meta.url).pathname;
  writeFileSync(script, `(setsid ${command} >/dev/null 2>&1 &)\nexec "${process.execPath}" "${server}"\n`);
  const source = mcpAbilities({ mcpServers: { t: { command: '/bin/sh', args: [script] } } });
  await call(source, 't.json');
  assert.equal(named(name).length, 1);
  await source.close();
  await until(() => named(name).length === 0);
});

function writeChain(command: string, timeoutSecs?: number) {
  const step = { id: 'go', ability: 'shell.execute', args: { command }, timeout_secs: timeoutSecs };
  const chain = { id: 'd', name: 'D', steps: [step, { ...step, id: 'then', args: { command: 'echo then' } }] };
  writeFileSync(join(home.folder, 'chain.json'), JSON.stringify(chain));
  writeFileSync(join(home.folder, 'given.toml'), '[abilities]\nshell = true\n');
}

const runChain = (...options: readonly string[]) =>
  home.run(['chain', 'run', 'chain.json', '--policy', 'given.toml', ...options]);

test('attack 28: a daemon of a chain step has the grace, is ended and named, and the step is done', long, async () => {
  const { command, name } = sleeper();
  writeChain(`setsid ${command} & echo $!`);
  const { code, out, err } = await runChain('--grace', '1s', '--id', 'named');
  assert.equal(code, 0, err);
  assert.equal(named(name).length, 0, 'ended before the chain went on');
  assert.match(out, /go {2}ended 1 program that the step go left running: sleep \(\d+\)/);
  assert.match((await home.run(['chain', 'show', 'named'])).out, /ended what it left running: sleep \(\d+\)/);
});

test('what a failing chain step left running is in --json, and in a card if it worked on', long, async () => {
  writeChain('setsid sh -c "while :; do :; done" & exit 3');
  const { code, out, err } = await runChain('--grace', '1s', '--json');
  assert.equal(code, 1, err);
  const [step] = (JSON.parse(out) as RunState).steps;
  assert.match(step!.reason!, /exit code 3/);
  assert.deepEqual(
    step!.leftBehind?.map(({ name, how }) => ({ name, how })),
    [{ name: 'sh', how: 'ended' }],
  );
  assert.match((await home.run(['inbox'])).out, /step go of d ended and left 1 program running that worked on/);
});

test('a program that ends within the grace is no reason for a word', long, async () => {
  writeChain('(sleep 0.6; echo late > late.txt) >/dev/null 2>&1 & echo now');
  const { code, out, err } = await runChain('--json');
  assert.equal(code, 0, err);
  const [step] = (JSON.parse(out) as RunState).steps;
  assert.ok(step!.leftBehind?.every(({ how }) => how === 'finished'));
  assert.equal(readFileSync(join(home.folder, 'late.txt'), 'utf8'), 'late\n');
});

test('--leave leaves the programs of a chain step running and names them', long, async () => {
  const { command, name } = sleeper();
  writeChain(`setsid ${command} & echo on`);
  const { code, out, err } = await runChain('--leave');
  assert.equal(code, 0, err);
  assert.match(out, /the step go ended and left 1 program running: sleep/);
  const [pid] = named(name);
  assert.ok(pid !== undefined);
  process.kill(pid);
});

test(
  '--wait-tree waits for the programs of a chain step until its time limit, and the step is done',
  long,
  async () => {
    const { command, name } = sleeper();
    writeChain(`setsid ${command} & echo on`, 2);
    const { code, out, err } = await runChain('--wait-tree');
    assert.equal(code, 0, err);
    assert.match(out, /ended 1 program that the step go left running \(longer than 2 s\)/);
    assert.equal(named(name).length, 0);
  },
);
