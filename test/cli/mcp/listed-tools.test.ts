/** Lists of tools in a policy file, through the real command. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { bin } from '../../harness/switchgear-bin.ts';
import { createPlace, ProxyProcess } from './proxy-process.ts';

const namesOf = ({ result }: { readonly result?: unknown }) =>
  (result as { readonly tools: readonly { readonly name: string }[] } | undefined)?.tools.map(({ name }) => name);

test('a tool that the policy denies is hidden, and its call does not reach the server', async () => {
  const place = createPlace('[mcp.tools.deny]\nscripted = ["env"]\n');
  const proxy = new ProxyProcess(place, { options: ['--policy', 'policy.toml'] });
  try {
    await proxy.initialize();
    assert.deepEqual(namesOf(await proxy.request('tools/list')), ['echo', 'fail', 'read_doc']);
    const refused = await proxy.call('env');
    assert.equal(refused.isError, true);
    assert.match(refused.content[0]?.text ?? '', /the policy does not allow 'mcp__scripted__env'/);
    assert.equal((await proxy.call('echo')).isError, false);
    assert.equal(ProxyProcess.readLog(place).includes('call env'), false);
  } finally {
    proxy.end();
    await proxy.exited;
    place.clear();
  }
});

test('a changed tool is refused across processes until it is approved in the inbox', async () => {
  const place = createPlace('[mcp]\non_tool_change = "refuse"\n');
  const env = { SWITCHGEAR_STORE: place.store, HOME: place.folder, PATH: process.env.PATH ?? '' };
  const inbox = (...args: readonly string[]) =>
    spawnSync(process.execPath, [bin, 'inbox', ...args], { cwd: place.folder, env, encoding: 'utf8' });
  /** The names that a new session lists. */
  const listTools = async (description: string) => {
    const options = ['--policy', 'policy.toml'];
    const proxy = new ProxyProcess(place, { options, env: { SCRIPTED_DESCRIPTION: description }, isBeside: true });
    await proxy.initialize();
    const names = namesOf(await proxy.request('tools/list'));
    const { isError } = await proxy.call('echo');
    proxy.end();
    await proxy.exited;
    return { count: names?.length, isError };
  };
  try {
    assert.deepEqual(await listTools('first'), { count: 4, isError: false });
    assert.deepEqual(await listTools('second'), { count: 0, isError: true });
    const shown = inbox('list').stdout;
    assert.match(shown, /4 tools of the MCP server "scripted" changed: not used until the change is approved/);
    assert.doesNotMatch(shown, /second/);
    const [id = ''] = /card-mcp-[\w-]+/.exec(shown) ?? [];
    assert.equal(inbox('approve', id).status, 0, inbox('approve', id).stderr);
    assert.deepEqual(await listTools('second'), { count: 4, isError: false });
  } finally {
    place.clear();
  }
});

test('a policy with an error in its lists lets no list and no call pass', async () => {
  const place = createPlace('[mcp.tools]\ndeni = ["env"]\n');
  const proxy = new ProxyProcess(place, { options: ['--policy', 'policy.toml'] });
  try {
    await proxy.initialize();
    const { error } = await proxy.request('tools/list');
    assert.equal((error as { readonly code: number }).code, 7504);
    assert.equal((await proxy.call('env')).isError, true);
    assert.equal(ProxyProcess.readLog(place).includes('call env'), false);
    assert.match(proxy.stderr, /mcp\.tools\.deni is not a setting; .*did you mean deny\?.*\(policy\.toml, line \d\)/);
  } finally {
    proxy.end();
    await proxy.exited;
    place.clear();
  }
});
