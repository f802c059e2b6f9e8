/** What is told where the framework is missing, as it is here: it is installed beside the tests of adapters alone. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { protect } from '../src/adapters/langchain/index.ts';
import { createSwitchgear } from '../src/guard/create-switchgear.ts';

test('an adapter without its peer package names the package to install, and runs no call unguarded', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  gear.breaker('read').hold('not now');
  const { middleware } = protect({ model: {}, middleware: [] as { wrapToolCall?: unknown }[] }, { gear });
  const hook = middleware[0]?.wrapToolCall as (request: object, handler: () => Promise<unknown>) => Promise<unknown>;
  const request = { toolCall: { id: 'a', name: 'read', args: {} }, state: {}, runtime: {} };
  let reached = 0;
  await assert.rejects(
    hook(request, async () => ++reached),
    { code: 'missing_package', message: /npm install @langchain\/core/ },
  );
  assert.equal(reached, 0);
});

test('the Redis store without its client names the package and where to install it', () => {
  const storeUrl = new URL('../src/stores/redis/index.ts', import.meta.url).href;
  const code = `import { registerHooks } from 'node:module';
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier !== 'redis') return next(specifier, context);
        throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
      },
    });
    const { redisStore } = await import(${JSON.stringify(storeUrl)});
    await redisStore({ url: 'redis://127.0.0.1:1' }).catch(({ code, message }) => console.log(code + ': ' + message));`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  assert.equal(
    child.stdout.trim(),
    'store_client_missing: the Redis store needs the package redis, installed where switchgear is: ' +
      'npm install redis, or with --global',
    child.stderr,
  );
});

test('a chain without the MCP client package names the package to install', () => {
  const hide = `import { registerHooks } from 'node:module';
    registerHooks({
      resolve(specifier, context, next) {
        if (!specifier.startsWith('@modelcontextprotocol/')) return next(specifier, context);
        throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
      },
    });`;
  const code = `${hide}
    const { mcpAbilities } = await import(${JSON.stringify(new URL('../src/chains/index.ts', import.meta.url).href)});
    const source = mcpAbilities({ mcpServers: { files: { command: 'true' } } });
    await source.find('files.read').catch(({ code, message }) => console.log(code + ': ' + message));`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  assert.equal(
    child.stdout.trim(),
    'missing_package: MCP servers need @modelcontextprotocol/client; ' +
      'install it with: npm install @modelcontextprotocol/client',
    child.stderr,
  );
});
