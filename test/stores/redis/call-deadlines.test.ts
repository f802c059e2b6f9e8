import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { createCallDeadlines } from '../../../src/stores/redis/call-deadlines.ts';

test('a late operation times out once, and one that ends in time does not', async () => {
  const deadlines = createCallDeadlines();
  const late: string[] = [];
  const begin = (name: string, ms: number) => deadlines.begin(ms, () => late.push(name));
  const heard = async (count: number) => {
    while (late.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  const ended = begin('ended', 5);
  begin('long', 40);
  begin('short', 10);
  deadlines.end(ended);
  await heard(2);
  begin('after', 5);
  await heard(3);
  assert.deepEqual(late.sort(), ['after', 'long', 'short']);
});

/** How a process ends that has begun something. */
function lifeOf(program: string): { readonly status: number | null; readonly stdout: string } {
  const file = new URL('../../../src/stores/redis/call-deadlines.ts', import.meta.url);
  const text = `import { createCallDeadlines } from ${JSON.stringify(file.href)};
    const deadlines = createCallDeadlines(); const late = () => console.log('late'); ${program}`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', text], { encoding: 'utf8', timeout: 20_000 });
}

test('a pending operation keeps the process alive, and a finished one does not', () => {
  assert.equal(lifeOf('deadlines.begin(50, late);').stdout, 'late\n');
  assert.equal(lifeOf('deadlines.end(deadlines.begin(60_000, late));').status, 0);
  const again = 'deadlines.end(deadlines.begin(30, late)); deadlines.begin(60, late);';
  assert.equal(lifeOf(again).stdout, 'late\n');
});
