/** Processes of stdio servers that write their errors to the same pipe, as the servers of several sessions do. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const source = new URL('../../src/mcp/server-process.ts', import.meta.url).href;

/** Starts two servers after each other, ends the first one, and prints what the second one answers. */
const program = `
  const { startServerProcess } = await import(${JSON.stringify(source)});
  const start = () => startServerProcess([process.execPath, '-e', 'process.stdin.pipe(process.stdout)']);
  const answer = (server) => new Promise((resolve) => {
    server.output.once('data', (data) => resolve(String(data)));
    server.ended.then(({ signal }) => resolve('ended by ' + signal));
    server.input.write('alive');
  });
  const first = await start();
  await answer(first);
  // The start times of processes are known to 10 ms.
  await new Promise((resolve) => setTimeout(resolve, 20));
  const second = await start();
  await answer(second);
  await first.end();
  console.log(await answer(second));
  await second.end();`;

test('the end of a server leaves a younger one alone that has the same stderr', { timeout: 60_000 }, async () => {
  // All output of the program is read from pipes.
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  assert.equal(stdout, 'alive\n');
});
