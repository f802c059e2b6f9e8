/** Work that is started as `at` and `cron` start it: away from the agent, without its environment and its terminal. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { collectOutput } from '../../harness/child-output.ts';
import { compiled } from '../../harness/compiled.ts';
import { bin } from '../../harness/switchgear-bin.ts';
import { type Attempts, byForm, holdAll, waitFor } from './attempts.ts';

function home(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { ...compiled, HOME: folder, PATH, SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}` };
  const start = (args: readonly string[], input = '') => {
    const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env, stdio: 'pipe' });
    const { out, err } = collectOutput(child);
    child.stdin.end(input);
    const closed = new Promise<number | null>((resolve) => child.on('exit', resolve));
    return { child, closed, out, err };
  };
  return { folder, start };
}

/** Ways to start `$1`, which works until it is ended, from a shell of the agent. */
const starts: Attempts<string> = [
  ['in the background', '"$1" &'],
  ['nohup', 'nohup "$1" >/dev/null 2>&1 &'],
  ['setsid', 'setsid "$1" >/dev/null 2>&1 &'],
  ['a double fork', '( ( "$1" >/dev/null 2>&1 & ) & )'],
  ['setsid with a double fork', 'setsid sh -c \'( "$1" & ) &\' x "$1" >/dev/null 2>&1'],
];

test('held: what an agent starts in another session is ended with it at a halt', async (context) => {
  await holdAll(
    context,
    starts,
    async (line) => {
      const { folder, start } = home(context);
      const beats = join(folder, 'beats');
      const worker = join(folder, 'worker.sh');
      writeFileSync(worker, `#!/bin/sh\nfor i in $(seq 6000); do echo beat >> '${beats}'; sleep 0.1; done\n`, {
        mode: 0o755,
      });
      const agent = ['sh', '-c', `${line}\nsleep 600`, 'sh', worker];
      const { closed, err } = start(['run', '--quiet', '--grace', '1s', '--max-duration', '3s', '--', ...agent]);
      await waitFor('the worker works', () => statSync(beats, { throwIfNoEntry: false }) !== undefined);
      assert.equal(await closed, 75, err());
      await waitFor(
        'the worker stands still',
        async () => {
          const { size } = statSync(beats);
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          return statSync(beats).size === size;
        },
        20_000,
      );
    },
    byForm(starts.length, 1),
  );
});

test('held: a run without a terminal or an environment, as cron starts it, has its limits', async (context) => {
  await holdAll(context, [['env -i and setsid', null]], async () => {
    const { folder } = home(context);
    const script = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "the same line of words again"; done; sleep 600';
    const line = ['setsid', '-w', 'env', '-i', `HOME=${folder}`, 'PATH=/usr/bin:/bin', process.execPath, bin];
    const args = [...line, 'run', '--quiet', '--grace', '1s', '--max-duration', '2s', '--', 'sh', '-c', script];
    const child = spawn('sh', ['-c', `cd '${folder}' && exec "$0" "$@"`, ...args], { stdio: 'ignore' });
    const code = await new Promise<number | null>((resolve) => child.on('exit', resolve));
    assert.equal(code, 75);
    assert.ok(readdirSync(folder).length > 0, 'no state was written');
  });
});
