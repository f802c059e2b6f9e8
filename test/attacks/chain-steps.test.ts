/** Attacks of chain steps on the promise that a step ends with everything it started. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { mcpAbilities } from '../../src/chains/abilities/mcp/index.ts';
import { shellAbilities } from '../../src/chains/abilities/shell.ts';
import { call } from '../chains/abilities/call-ability.ts';
import { createTestHome } from '../cli/run/run-cli.ts';
import { named, sleeper, until } from '../supervisor/processes.ts';

const home = createTestHome();
after(() => home.clear());
const long = { timeout: 60_000 };
const shell = shellAbilities({ shell: true });

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

test('attack 28: a daemon of a step that a chain command runs ends with the chain', long, async () => {
  const { command, name } = sleeper();
  const chain = {
    id: 'd',
    name: 'D',
    steps: [{ id: 'go', ability: 'shell.execute', args: { command: `setsid ${command} &` } }],
  };
  writeFileSync(join(home.folder, 'chain.json'), JSON.stringify(chain));
  writeFileSync(join(home.folder, 'given.toml'), '[abilities]\nshell = true\n');
  const { code, err } = await home.run(['chain', 'run', 'chain.json', '--policy', 'given.toml']);
  assert.equal(code, 0, err);
  await until(() => named(name).length === 0);
});
