/** Lists of the tools of MCP servers in a policy. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { applyEnvironment } from '../../../src/policy/environment.ts';
import { parsePolicy } from '../../../src/policy/file/files.ts';
import { explainPolicy } from '../../../src/policy/pages/explain.ts';
import { tightenSettings } from '../../../src/policy/trust/tighten-settings.ts';

const toolsOf = (tools: unknown) => checkPolicy({ mcp: { tools } }).settings.mcp.tools;
const settingsOf = (tools: unknown) => checkPolicy({ mcp: { tools } }).settings;
const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;

test('a list is for every server, a table for the servers it names', () => {
  assert.deepEqual(plain(toolsOf({ allow: ['read_*'], deny: { docs: ['write'] } })), {
    allow: { '*': ['read_*'] },
    deny: { docs: ['write'] },
  });
  assert.deepEqual(plain(toolsOf({})), {});
});

for (const [title, tools, problem] of [
  ['a list instead of a table', ['x'], /^mcp\.tools must be a table with allow and deny, got a list of 1/],
  ['an unknown key', { alow: ['x'] }, /^mcp\.tools\.alow is not a setting; .*did you mean allow\?/],
  ['a server beside allow', { docs: { deny: ['x'] } }, /^mcp\.tools\.docs is not a setting/],
  ['a text', { deny: 'delete_*' }, /^mcp\.tools\.deny must be a list of globs, or a table of them by server, got "/],
  ['an empty allow', { allow: [] }, /^mcp\.tools\.allow must not be empty/],
  ['an empty allow of a server', { allow: { docs: [] } }, /^mcp\.tools\.allow\["docs"\] must not be empty/],
  ['a number', { deny: ['x', 5] }, /^mcp\.tools\.deny\[1\] must be a text, got 5/],
  ['another kind of pattern', { deny: ['delete_[ab]'] }, /^mcp\.tools\.deny\[0\] must be a name of a tool/],
  ['a question mark', { deny: { docs: ['delete_?'] } }, /^mcp\.tools\.deny\["docs"\]\[0\] must be a name of a tool/],
  ['two names in one', { deny: ['a, b'] }, /^mcp\.tools\.deny\[0\] must be a name of a tool/],
  ['a space at the end', { deny: ['delete '] }, /^mcp\.tools\.deny\[0\] must be a name of a tool/],
  ['a table of tables', { deny: { docs: { x: true } } }, /^mcp\.tools\.deny\["docs"\] must be a list of globs, got/],
  ['null', { deny: null }, /^mcp\.tools\.deny must be/],
] as const) {
  test(`${title} is an error, and no limit is switched off`, () => {
    assert.throws(() => checkPolicy({ mcp: { tools } }), { code: 'invalid_policy', message: problem });
  });
}

test('a problem names the line of its list, not that of the table', () => {
  const text = '[mcp.tools]\nallow = ["a"]\ndeny = 3\n';
  assert.throws(() => parsePolicy(text, 'x.toml'), { message: /^mcp\.tools\.deny must be .* \(x\.toml, line 3\)$/ });
  const list = '[mcp.tools]\nallow = ["a"]\ndeny = ["b", 3]\n';
  assert.throws(() => parsePolicy(list, 'x.toml'), { message: /^mcp\.tools\.deny\[1\] .* \(x\.toml, line 3\)$/ });
});

test('an unknown setting of mcp is an error', () => {
  assert.throws(() => checkPolicy({ mcp: { tols: {} } }), {
    message: /mcp\.tols is not a setting; did you mean tools\?/,
  });
});

test('a found policy may forbid more tools, and allow no more', () => {
  const tighten = (base: unknown, found: unknown) => {
    const { settings, waiting } = tightenSettings(settingsOf(base), settingsOf(found));
    return { tools: plain(settings.mcp.tools), waiting };
  };
  assert.deepEqual(tighten({}, { allow: ['read_*'], deny: { docs: ['x'] } }), {
    tools: { allow: { '*': ['read_*'] }, deny: { docs: ['x'] } },
    waiting: [],
  });
  assert.deepEqual(tighten({ allow: ['read_*'] }, { allow: ['read_doc'] }), {
    tools: { allow: { '*': ['read_doc'] } },
    waiting: [],
  });
  assert.deepEqual(tighten({ allow: ['read_*'], deny: ['x'] }, { allow: ['read_*', 'write'] }), {
    tools: { allow: { '*': ['read_*'] }, deny: { '*': ['x'] } },
    waiting: ['mcp.tools'],
  });
  assert.deepEqual(tighten({ deny: ['delete_*'] }, { deny: ['delete_doc'] }), {
    tools: { deny: { '*': ['delete_doc', 'delete_*'] } },
    waiting: ['mcp.tools'],
  });
  assert.deepEqual(tighten({ deny: ['delete_doc'] }, { deny: ['delete_*'] }).waiting, []);
});

test('the lists are explained with their values, and have no variable', () => {
  const policy = checkPolicy({ mcp: { tools: { deny: { docs: ['x'] } } } });
  assert.match(explainPolicy(policy).join('\n'), /tools +deny=\{"docs":\["x"\]\}/);
  const { ignored, settings } = applyEnvironment(policy, {
    SWITCHGEAR_MCP_TOOLS_DENY: 'y',
    SWITCHGEAR_MCP_HIDE_OPEN_TOOLS: 'true',
  });
  assert.equal(settings.mcp.hideOpenTools, true);
  assert.match(ignored[0]?.message ?? '', /^SWITCHGEAR_MCP_TOOLS_DENY is not taken: .*in a policy/);
});
