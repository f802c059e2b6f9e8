/**
 * Proves what tests do on a machine without their services: with a program hidden, every file that can start it
 * passes with skipped tests, each with its reason, and fails where CI is set. Arguments are names of services.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { listFiles, listImports, readText, root } from './harness/source.ts';
import { type ServiceName, services } from './services.ts';

/** The file that starts each service. */
const starters: Readonly<Record<ServiceName, string>> = {
  redis: 'test/redis-server.ts',
  chromium: 'test/page/browser.ts',
  promtool: 'test/promtool.ts',
};

const asked = process.argv.slice(2);
for (const [name, starter] of Object.entries(starters).filter(([name]) => asked.length === 0 || asked.includes(name))) {
  const { program } = services[name as ServiceName];
  const files = testsThatReach(starter);
  assert.ok(files.length > 0, `no test leads to ${starter}`);
  const reason = `${program} is not installed (`;

  const { status, lastLine } = runTests(program, files, '');
  const [, failed, skipped] = /^\d+ passed, (\d+) failed, (\d+) skipped: (.*)$/.exec(lastLine) ?? [];
  assert.deepEqual([status, failed], [0, '0'], lastLine);
  assert.ok(Number(skipped) >= files.length / 2, `few tests of ${files.length} files were skipped: ${lastLine}`);
  assert.ok(lastLine.includes(`skipped: ${reason}`), lastLine);
  console.log(`ok  ${program} hidden, ${files.length} files: ${lastLine}`);

  const onCi = runTests(program, files, 'true');
  assert.equal(onCi.status, 1, onCi.lastLine);
  assert.ok(onCi.lastLine.includes(reason), onCi.lastLine);
  console.log(`ok  ${program} hidden, CI set: exit 1: ${onCi.lastLine}`);
}

function runTests(program: string, files: readonly string[], CI: string) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['test/run-tests.ts', `--without=${program}`, '--again', '--test-reporter=dot', ...files],
    { cwd: root, encoding: 'utf8', env: { ...process.env, CI }, maxBuffer: 2 ** 27 },
  );
  const lastLine = stdout.trimEnd().split('\n').at(-1) ?? '';
  if (CI === '' && status !== 0) console.log(stdout + stderr);
  return { status, lastLine };
}

/** The test files whose imports lead to a file. */
function testsThatReach(target: string): readonly string[] {
  const reaches = new Map<string, boolean>();
  const leads = (path: string): boolean => {
    if (path === target) return true;
    const known = reaches.get(path);
    if (known !== undefined) return known;
    reaches.set(path, false);
    const found = listImports(readText(path))
      .filter((each) => each.startsWith('.'))
      .map((each) => posix.join(dirname(path), each))
      .some((each) => existsSync(join(root, each)) && leads(each));
    reaches.set(path, found);
    return found;
  };
  return listFiles('test').filter(
    (path) => path.endsWith('.test.ts') && !path.startsWith('test/adapters/') && leads(path),
  );
}
