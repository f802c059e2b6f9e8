/** Packs the package as it would be published, installs it without a network, and opens every door. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { listEntryPoints, readPackage, root } from './harness/source.ts';

const needed = '22.18';
const folder = mkdtempSync(join(tmpdir(), 'switchgear-'));
const home = join(folder, 'user');
try {
  mkdirSync(home);
  const [packed] = JSON.parse(
    run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], root),
  ) as [Packed];
  const ours = [
    /^dist\/.*\.(c?js|d\.ts)$/,
    /^dist\/page\/(index\.html|page-\w+\.(js|css))(\.br|\.gz)?$/,
    /^bin\//,
    /^docs\/.*\.(md|svg)$/,
    /^monitoring\/[\w-]+\.(json|yml)$/,
    /^([A-Z]+(\.md)?|package\.json|(chain|policy)\.schema\.json)$/,
  ];
  const strays = packed.files.filter(({ path }) => !ours.some((each) => each.test(path)));
  assert.deepEqual(strays, [], 'the package carries files that nobody needs: see "files" in package.json');

  // What npm would fetch is taken from our own node_modules, so that no network is needed.
  const { name, dependencies = {} } = readPackage();
  const local = Object.keys(dependencies).map((each) => [each, `file:${join(root, 'node_modules', each)}`]);
  writeFileSync(
    join(home, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies: Object.fromEntries(local) }),
  );
  run(
    'npm',
    ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', join(folder, packed.filename)],
    home,
  );

  for (const door of listEntryPoints()) {
    const names = run(
      process.execPath,
      ['-e', `import('${door.name}').then((door) => console.log(Object.keys(door).length))`],
      home,
    );
    assert.ok(Number(names) > 0, `${door.name} opens and is empty`);
    console.log(`ok  ${door.name}: ${names.trim()} names`);
  }
  const lines = listEntryPoints().map(
    (door, index) => `import * as door${index} from '${door.name}';\nvoid door${index};\n`,
  );
  writeFileSync(join(home, 'user.ts'), lines.join(''));
  const typeRoots = join(root, 'node_modules', '@types');
  run(
    'tsc',
    [
      ...'--noEmit --strict --target es2023 --module nodenext --types node --typeRoots'.split(' '),
      typeRoots,
      'user.ts',
    ],
    home,
  );
  console.log('ok  the types, to a strict compiler');
  const hidden = spawnSync(process.execPath, ['-e', `import('${name}/dist/core/decide.js')`], {
    cwd: home,
    encoding: 'utf8',
  });
  assert.match(hidden.stderr, /ERR_PACKAGE_PATH_NOT_EXPORTED/, 'the inside of the package can be imported');
  const version = run(process.execPath, [join(home, 'node_modules', '.bin', name), '--version'], home);
  assert.match(version, /\d+\.\d+\.\d+/);
  console.log(`ok  the command: ${version.trim()}`);

  const store = `sqlite:${join(folder, 'runs.db')}`;
  const command = [join(home, 'node_modules', '.bin', name), 'run', '--store', store, '--max-idle', '60s', '--'];
  assert.equal(run(process.execPath, [...command, 'echo', 'hello'], home), 'hello\n');
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(home, 'node_modules', '.bin', name), 'status', '--store', store],
    { cwd: home, encoding: 'utf8' },
  );
  assert.deepEqual([status, stderr], [0, ''], 'a command that reads a file prints nothing else');
  console.log('ok  a run, which is a few files of its own');

  checkHookAnswer([], '');
  const rule = `condition = "ability:Bash"\naction = "abort"\nreason = "No shell."`;
  writeFileSync(join(home, 'switchgear.toml'), `[[rules]]\n${rule}\n`);
  checkHookAnswer([], 'No shell.');
  const written = { rules: [{ condition: 'ability:Bash', action: 'abort', reason: 'Nor in this one.' }] };
  writeFileSync(join(home, 'other.yaml'), JSON.stringify(written));
  checkHookAnswer(['--policy', join(home, 'other.yaml')], 'Nor in this one.');
  console.log('ok  a hook, which is a file of its own: without a policy, and with one in each language');

  const old = oldNode();
  if (old === undefined) console.log(`--  no Node older than ${needed} on the path: what it is told was not tried`);
  else {
    checkOldNode(old, ['-e', `import('${name}')`]);
    checkOldNode(old, [join(home, 'node_modules', '.bin', name), '--version']);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

interface OldNode {
  readonly path: string;
  readonly version: string;
}

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** A Node that is too old must be told so, in one line that names both. */
function checkOldNode({ path, version }: OldNode, args: readonly string[]): void {
  const { status, stderr } = spawnSync(path, args, { cwd: home, encoding: 'utf8' });
  const line = stderr.split('\n').find((each) => each.includes(needed) && each.includes(version));
  assert.ok(line, `under Node ${version} one sentence must name ${needed} and the Node at hand, got:\n${stderr}`);
  assert.notEqual(status, 0, `Node ${version} was told, and ran it all the same`);
  console.log(`ok  Node ${version} is told: ${line.trim()}`);
}

/** Asks the installed hook about a call; it says nothing, or why the call may not run. */
function checkHookAnswer(extraArgs: readonly string[], why: string): void {
  const call = { tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: randomUUID() };
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      join(home, 'node_modules', '.bin', 'switchgear'),
      'hook',
      'claude-code',
      '--store',
      'sqlite:state.db',
      ...extraArgs,
    ],
    {
      cwd: home,
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
      input: JSON.stringify({ session_id: randomUUID(), cwd: home, hook_event_name: 'PreToolUse', ...call }),
    },
  );
  assert.equal(stderr, '');
  assert.equal(status, 0);
  if (why === '') assert.equal(stdout, '');
  else assert.ok(stdout.includes(why), `the hook should say ${why}, and says ${stdout}`);
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32' && command !== process.execPath,
  });
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

/** A Node on the path that is too old for us, if there is one. */
function oldNode(): OldNode | undefined {
  for (const each of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(each, 'node');
    if (each.includes('node_modules') || !existsSync(path)) continue;
    const version = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout?.trim() ?? '';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const [wantedMajor = 0, wantedMinor = 0] = needed.split('.').map(Number);
    if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) return { path, version };
  }
  return undefined;
}
