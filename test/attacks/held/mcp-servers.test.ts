/** Hostile MCP servers: every step ends in a sentence within its time, and no server outlives the chain. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createChains, mcpAbilities, readChain } from '../../../src/chains/index.ts';
import { compiled } from '../../harness/compiled.ts';
import { byForm, holdAll, waitFor } from './attempts.ts';
import { hostileModes } from './hostile-mcp-server.ts';

const server = fileURLToPath(new URL('./hostile-mcp-server.ts', import.meta.url));
const written = {
  id: 'attacked',
  steps: [
    { id: 'one', ability: 'h.tool', output_key: 'one', timeout_secs: byForm(6, 4) },
    { id: 'two', ability: 'h.tool', output_key: 'two', timeout_secs: byForm(6, 4) },
  ],
};

/** Processes of this mode that still run. */
function serversOf(mode: string): number {
  const { stdout } = spawnSync('ps', ['-e', '-o', 'args='], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return stdout.split('\n').filter((line) => line.includes(server) && line.includes(markOf(mode))).length;
}

/** Other runs of this file must not be counted. */
const markOf = (mode: string) => `${mode} mark-${process.pid}`;

test('held: a hostile MCP server neither hangs, crashes nor outlives a chain', async (context) => {
  const { chain } = readChain(JSON.stringify(written), 'attacked.json');
  assert.ok(chain);
  await holdAll(
    context,
    hostileModes.map((mode) => [mode, mode] as const),
    async (mode) => {
      const command = { command: process.execPath, args: [server, mode, `mark-${process.pid}`], env: compiled };
      const abilities = [mcpAbilities({ mcpServers: { h: command } })];
      const chains = createChains({ abilities, log: 'silent', env: {} });
      const before = process.memoryUsage().rss;
      let sentence = '';
      try {
        const run = await chains.run(chain, {});
        assert.match(run.status, /^(done|failed)$/);
        sentence = run.end?.message ?? '';
        if (run.status === 'done') {
          const { one } = await chains.outputs(run.id);
          assert.doesNotThrow(() => JSON.stringify(one));
        }
      } catch (error) {
        sentence = error instanceof Error ? error.message : String(error);
        assert.ok(error instanceof Error && error.name !== 'RangeError' && error.name !== 'TypeError', sentence);
      } finally {
        await chains.close();
      }
      assert.ok(sentence.length < 3_000, `the sentence has ${sentence.length} characters`);
      assert.equal(({} as { polluted?: unknown }).polluted, undefined, 'the prototype was changed');
      assert.ok(process.memoryUsage().rss - before < 700_000_000, 'the memory has grown');
      await waitFor('the server ends', () => serversOf(mode) === 0);
    },
    5,
  );
});
