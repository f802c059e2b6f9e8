/** What a user's bundle carries: nobody else's code, and no accident. The ceilings are no targets. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { readPackage, root } from './harness/source.ts';

const kilobyte = 1024;

/** Bundles one import as a user's bundler does. */
async function bundle(code: string): Promise<{ readonly bytes: number; readonly inputs: readonly string[] }> {
  const result = await build({
    stdin: { contents: code, resolveDir: root, sourcefile: 'user.ts' },
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    // A dependency must show up as an input, not hide as an external one.
    external: ['node:*'],
    logLevel: 'silent',
  });
  const [file] = result.outputFiles;
  assert.ok(file, 'esbuild wrote nothing');
  return { bytes: gzipSync(file.contents, { level: 9 }).length, inputs: Object.keys(result.metafile.inputs) };
}

const cases = [
  { name: 'switchgear', code: `export * from './src/index.ts';`, most: 108 * kilobyte },
  {
    name: 'switchgear/breaker',
    code: `export { createBreaker } from './src/breaker.ts';`,
    most: 12 * kilobyte,
  },
];

for (const { name, code, most } of cases) {
  test(`${name} is at most ${most / kilobyte} kB minified and zipped, with no dependency in it`, async (context) => {
    const { bytes, inputs } = await bundle(code);
    context.diagnostic(
      `${name}: ${(bytes / kilobyte).toFixed(2)} kB of ${most / kilobyte}, ${inputs.length - 1} files`,
    );
    const foreign = inputs.filter((path) => path !== 'user.ts' && !path.startsWith('src/'));
    assert.deepEqual(foreign, [], `${name} carries files from outside src/`);
    assert.ok(bytes <= most, `${name} is ${bytes} bytes, at most ${most}: look at what grew with esbuild --analyze`);
  });
}

test('the bundle of a dependency has more than 100 bytes and lists the files of the dependency', async () => {
  const [name] = Object.keys(readPackage().dependencies ?? {});
  const { bytes, inputs } = await bundle(`export * from '${name}';`);
  assert.ok(bytes > 100);
  assert.ok(inputs.some((path) => path.includes(`node_modules/${name}/`)));
});
