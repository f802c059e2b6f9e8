/** What is left when a supervisor is killed. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeMarkName } from '../../src/supervisor/process-tree.ts';
import { marked, named, until } from './processes.ts';

const file = fileURLToPath(new URL('./watched-child.ts', import.meta.url));

async function watched(name: string, script: string) {
  const mark = makeMarkName(`watchdog-${process.pid}-${name}`);
  const supervisor = spawn(process.execPath, [file, mark, script], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(supervisor.stdout, 'data');
  return { mark, supervisor };
}

test('when the supervisor is killed, the agent and its child processes end', { timeout: 60_000 }, async () => {
  const stubborn = "trap '' TERM INT HUP; (setsid sleep 1000 &); sleep 1000 & echo ready; wait";
  const { mark, supervisor } = await watched('killed', stubborn);
  assert.ok(marked(mark).length >= 2);
  supervisor.kill('SIGKILL');
  await once(supervisor, 'exit');
  await until(() => marked(mark).length === 0);
});

test('a dismissed watchdog does not end the agent', { timeout: 60_000 }, async () => {
  const { mark, supervisor } = await watched('dismissed', 'echo ready; exec sleep 1000');
  let agent: number | undefined;
  await until(() => {
    [agent] = marked(mark);
    return agent !== undefined; // A process that is just being started shows no environment.
  });
  supervisor.stdin.write('go');
  await once(supervisor, 'exit');
  await until(() => named(mark).length === 0); // The watchdog was told its mark.
  assert.deepEqual(marked(mark), [agent]);
  process.kill(agent!, 'SIGKILL');
});

test('attack 11: a watchdog that the system cannot start is reported, and started when it can', {
  timeout: 60_000,
}, async () => {
  const watchdogFile = new URL('../../src/supervisor/watchdog.ts', import.meta.url).href;
  // All descriptors are in use when the watchdog is to start.
  const script = `
    import { closeSync, openSync } from 'node:fs';
    const { startWatchdog } = await import(${JSON.stringify(watchdogFile)});
    const open = [];
    try { for (;;) open.push(openSync('/dev/null')); } catch {}
    const watchdog = startWatchdog({ mark: 'SWITCHGEAR_MARK_none', ownsSession: true, signal: 'SIGTERM' });
    const keep = setInterval(() => undefined, 1000);
    watchdog.listen((news) => {
      process.stdout.write(news + '\\n');
      if (news === 'missing') for (const each of open) closeSync(each);
      else { watchdog.dismiss(); clearInterval(keep); }
    });`;
  const limited = `ulimit -n 64; exec "$@"`;
  const args = ['-c', limited, 'sh', process.execPath, '--input-type=module', '-e', script];
  const child = spawn('sh', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  assert.deepEqual([await once(child, 'close'), out], [[0, null], 'missing\nreplaced\n']);
});
