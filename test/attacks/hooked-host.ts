/** A host of hooks, as a process of its own, for attacks by its tools. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { testEnvironment } from '../test-environment.ts';

/**
 * A host that runs each hook through `sh -c`, and tools as children of its own. `script` uses `hook(event)` and
 * `tool(line, input)`; what it returns is printed. The store is named by an option of the hook, or by a variable.
 */
export async function play(
  context: TestContext,
  script: string,
  policy: object = {},
  storeBy: 'option' | 'variable' = 'option',
) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-forged-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = join(folder, 'state.db');
  writeFileSync(join(folder, 'given.json'), JSON.stringify(policy));
  // A wrapper that waits for the hook, as some packages install it.
  writeFileSync(join(folder, 'wrapper.sh'), `${process.execPath} ${bin} "$@"\nexit $?\n`);
  writeFileSync(join(folder, 'host.mjs'), `${hostProgram}\n${script}\n`);
  const storeOption = storeBy === 'option' ? `--store sqlite:${store} ` : '';
  const options = `${storeOption}--policy ${join(folder, 'given.json')}`;
  const line = `${process.execPath} ${bin} hook claude-code ${options}`;
  const env = {
    ...{ ...testEnvironment(process.env), HOME: folder, HOOK: line, BIN: `${process.execPath} ${bin}` },
    ...(storeBy === 'variable' && { SWITCHGEAR_STORE: `sqlite:${store}` }),
  };
  const host = spawn(process.execPath, ['host.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  host.stdout.on('data', (part) => (out += part));
  await new Promise((resolve) => host.on('close', resolve));
  const opened = sqliteStore({ path: store });
  const cards = opened.cards();
  const entries = opened.tail(0);
  opened.close();
  return { result: JSON.parse(out) as { refused: number; ran: number }, cards, entries, folder };
}

const hostProgram = `
import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
const base = { session_id: 's1', cwd: process.cwd() };
const shell = (line, input = '') => spawnSync('sh', ['-c', line], { input, encoding: 'utf8' });
const hook = (event) => {
  const { stdout } = shell(process.env.HOOK, JSON.stringify({ ...base, ...event }));
  return stdout === '' ? undefined : JSON.parse(stdout);
};
const tool = (line) => shell(line);
const pass = (id) => run(id, 'work ' + id, () => {});
/** A file with an event, for the stdin of a made-up hook. */
const eventFile = (event) => {
  const path = process.cwd() + '/event-' + Math.random() + '.json';
  appendFileSync(path, JSON.stringify({ ...base, ...event }));
  return path;
};
const forge = (event) => \`echo '\${JSON.stringify({ ...base, ...event })}' | \${process.env.HOOK}; true\`;
const call = (id, command) => ({ tool_name: 'Bash', tool_use_id: id, tool_input: { command } });
const count = { refused: 0, ran: 0 };
const run = (id, command, doWork, isFailed = false) => {
  const answer = hook({ hook_event_name: 'PreToolUse', ...call(id, command) });
  if (answer !== undefined) return void count.refused++;
  count.ran++;
  doWork();
  if (isFailed) hook({ hook_event_name: 'PostToolUseFailure', ...call(id, command), error: 'no such host' });
  else hook({ hook_event_name: 'PostToolUse', ...call(id, command), tool_response: { stdout: id } });
};
`;

export const limited = { task: { max_tool_calls: 3 } };
