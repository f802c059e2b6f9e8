/** Settings and policies that leave hooks installed and useless: `switchgear doctor` must not be content with them. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { compiled } from '../harness/compiled.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { isWhole } from './held/attempts.ts';

function newHome(context: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'switchgear-doctor-'));
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const work = join(home, 'work');
  mkdirSync(work);
  const env = { ...compiled, PATH: process.env.PATH ?? '', HOME: home };
  return {
    put(name: string, text: string) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), text);
    },
    run(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
        cwd: work,
        encoding: 'utf8',
        env: { ...env, ...more },
      });
      return { status, out: stdout + stderr };
    },
  };
}

const off = 'mode = "observe"\n[circuit_breaker]\nmode = "off"\n[loop]\nenabled = false\n';

test('attack 17: doctor is content with hooks that refuse, and names the policy', (context) => {
  const home = newHome(context);
  assert.match(home.run(['init', 'claude-code']).out, /policy: no file found, the defaults hold/);
  const { status, out } = home.run(['doctor', 'claude-code']);
  assert.equal(status, 0, out);
  assert.match(out, /allows a first call and refuses one beyond the limit/);
  home.put('work/switchgear.toml', '[task]\nmax_tool_calls = 9\n');
  assert.match(
    home.run(['doctor', 'claude-code']).out,
    /ok +policy: switchgear\.toml, found in this folder; not looser/,
  );
});

test('attack 17: doctor is not content with a folder whose policy switches everything off', (context) => {
  const home = newHome(context);
  home.run(['init', 'claude-code']);
  home.put('work/switchgear.toml', off);
  const waiting = home.run(['doctor', 'claude-code']);
  assert.equal(waiting.status, 1);
  assert.match(waiting.out, /FAIL +switchgear\.toml would switch protection off, and waits for trust/);
  assert.match(waiting.out, /refuses one beyond the limit/, 'the hook itself still refuses');
});

test('attack 17: doctor says that a given policy refuses nothing, as the operator wants', (context) => {
  const home = newHome(context);
  home.put('mine.toml', off);
  home.run(['init', 'claude-code', '--policy', '../mine.toml']);
  const { status, out } = home.run(['doctor', 'claude-code']);
  assert.equal(status, 0, out);
  assert.match(out, /mode is "observe": nothing is refused, as you said/);
  assert.match(out, /refuses nothing, as the policy says/);
});

test('attack 17: doctor is not content with a variable that observes', (context) => {
  const home = newHome(context);
  home.run(['init', 'claude-code']);
  const { status, out } = home.run(['doctor', 'claude-code'], { SWITCHGEAR_MODE: 'observe' });
  assert.equal(status, 1);
  assert.match(out, /FAIL +mode is "observe": nothing is refused/);
});

test('attack 17: doctor is not content with a policy that cannot be read', (context) => {
  const home = newHome(context);
  home.run(['init', 'claude-code']);
  home.put('work/switchgear.toml', 'mode = ');
  assert.equal(home.run(['doctor', 'claude-code']).status, 1);
});

const switches: readonly (readonly [string, string, string])[] = [
  ['claude-code', 'work/.claude/settings.json', '{ "disableAllHooks": true }'],
  ['claude-code', 'work/.claude/settings.local.json', '{ "disableAllHooks": true }'],
  ['claude-code', 'work/.claude/settings.local.json', '{ "env": { "CLAUDE_CODE_SIMPLE": "1" } }'],
  ['codex', '.codex/config.toml', '[features]\nhooks = false\n'],
  ['codex', 'work/.codex/config.toml', '[features]\ncodex_hooks = false\n'],
  ['gemini', 'work/.gemini/settings.json', '{ "hooksConfig": { "enabled": false } }'],
  ['gemini', 'work/.gemini/settings.json', '{ "hooksConfig": { "disabled": ["switchgear"] } }'],
  ['gemini', 'work/.gemini/settings.json', '{ "tools": { "enableHooks": false } }'],
];

/** The short form has one way of each host. */
const isFirst = (at: number) => switches.findIndex(([host]) => host === switches[at]![0]) === at;

for (const [host, file, text] of switches.filter((_, at) => isWhole || isFirst(at))) {
  const shown = text.replaceAll(/\s+/g, ' ').trim();
  test(`attack 17: doctor is not content with ${host} and ${shown} in ${file}`, (context) => {
    const home = newHome(context);
    home.run(['init', host]);
    assert.equal(home.run(['doctor', host]).status, 0);
    home.put(file, text);
    const { status, out } = home.run(['doctor', host]);
    assert.equal(status, 1);
    assert.match(out, /FAIL .*the host runs no hooks/);
  });
}

test('attack 17: doctor reads the user settings of Claude Code with the hooks in them', (context) => {
  const home = newHome(context);
  home.put('.claude/settings.json', '{ "disableAllHooks": true }');
  home.run(['init', 'claude-code']);
  const { status, out } = home.run(['doctor', 'claude-code']);
  assert.equal(status, 1);
  assert.match(out, /sets disableAllHooks/);
});
