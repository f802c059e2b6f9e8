import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { failingToolScenes } from '../../src/demo/failing-tools.ts';
import { playDemo } from '../../src/demo/play.ts';
import { createDemoRenderer } from '../../src/demo/render.ts';
import { createSceneContext, findFaults, type Scene } from '../../src/demo/scene.ts';

// A folder for temporary files of its own, to see what stays in it.
const folder = mkdtempSync(join(tmpdir(), 'switchgear-demo-test-'));
process.env.TMPDIR = folder;
after(() => rmSync(folder, { recursive: true, force: true }));

const stage = createSceneContext({ run: () => Promise.reject(new Error('nothing is run here')) });
const [scene] = failingToolScenes as [Scene];

test('every agent of the demo ends as it should, in eighty plain columns, and nothing is left', async () => {
  const lines: string[] = [];
  const isOver = await playDemo((line) => lines.push(line), false);
  assert.equal(lines.at(-1), '16 of 16 ended as they should.', lines.join('\n'));
  assert.equal(isOver, true);
  assert.equal(lines.filter((line) => /^ {3}(STOPPED|REFUSED) /.test(line)).length, 14);
  assert.equal(lines.filter((line) => /^ {3}left alone /.test(line)).length, 2);
  assert.deepEqual(readdirSync(folder), []);
  for (const line of lines) assert.ok([...line].length <= 80 && !line.includes('\u001b'), line);
});

test('an interrupted demo prints nothing more', async () => {
  const lines: string[] = [];
  assert.equal(await playDemo((line) => lines.push(line), false, AbortSignal.abort()), false);
  assert.ok(!lines.some((line) => line.includes('STOPPED')));
  assert.deepEqual(readdirSync(folder), []);
});

test('colours change nothing but the colours', async () => {
  const played = await scene.play(stage);
  const [plain, coloured] = [false, true].map((isColoured) =>
    createDemoRenderer(isColoured).renderScene(1, scene, played, []),
  ) as [readonly string[], readonly string[]];
  assert.notDeepEqual(coloured, plain);
  assert.deepEqual(
    coloured.map((line) => stripVTControlCharacters(line)),
    plain,
  );
});

test('a scene with an unexpected end is reported with the expected one', async () => {
  const played = await scene.play(stage);
  assert.deepEqual(findFaults(scene, played), []);
  assert.deepEqual(findFaults({ ...scene, expected: { code: 'storm', attempts: 8, ran: 4, exitCode: 75 } }, played), [
    'code should be storm, is tool_loop',
    'ran should be 4, is 5',
    'exitCode should be 75, is undefined',
  ]);
});
