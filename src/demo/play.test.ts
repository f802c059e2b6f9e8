import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { playDemo } from './play.ts';
import { createStage, faultsOf, type Scene } from './scene.ts';
import { spirals } from './spirals.ts';

test('every agent of the demo is stopped as it should be, in eighty plain columns', async () => {
  const lines: string[] = [];
  assert.equal(await playDemo((line) => lines.push(line), false), true);
  assert.equal(lines.at(-1), '11 of 11 were stopped as they should be.');
  assert.equal(lines.filter((line) => /^ {3}(STOPPED|REFUSED) /.test(line)).length, 11);
  for (const line of lines) assert.ok([...line].length <= 80 && !line.includes('\u001b'), line);
});

test('colours change nothing but the colours', async () => {
  const plain: string[] = [];
  const coloured: string[] = [];
  await playDemo((line) => plain.push(line), false);
  await playDemo((line) => coloured.push(line), true);
  assert.notDeepEqual(coloured, plain);
  assert.deepEqual(
    coloured.map((line) => stripVTControlCharacters(line)),
    plain,
  );
});

test('a scene that ends otherwise is told with what it should have been', async () => {
  const [scene] = spirals as [Scene];
  const played = await scene.play(createStage());
  assert.deepEqual(faultsOf(scene, played), []);
  assert.deepEqual(faultsOf({ ...scene, expected: { code: 'storm', attempts: 8, ran: 4 } }, played), [
    'code should be storm, is tool_loop',
    'ran should be 4, is 5',
  ]);
});
