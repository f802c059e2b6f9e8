/** `switchgear init CLIENT --gateway`: the base URL of a client changes, and everything else keeps its bytes. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { main } from '../../../../src/cli/main.ts';

function createHome(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-gateway-clients-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = (name: string) => join(folder, name);
  return {
    put(name: string, text: string) {
      mkdirSync(dirname(path(name)), { recursive: true });
      writeFileSync(path(name), text);
    },
    read: (name: string) => (existsSync(path(name)) ? readFileSync(path(name), 'utf8') : undefined),
    async run(...args: readonly string[]) {
      const out: string[] = [];
      const err: string[] = [];
      const output = { out: (line: string) => out.push(line), err: (line: string) => err.push(line) };
      const code = await main(args, { ...output, cwd: folder, env: { HOME: folder, PATH: process.env.PATH } });
      return { code, out: out.join('\n'), err: err.join('\n') };
    },
  };
}

interface Case {
  readonly file: string;
  readonly client: string;
  readonly before: string | undefined;
  readonly after: RegExp;
  /** What the output says of the base URL that was there. */
  readonly upstream?: string;
}

const url = 'http://127.0.0.1:4777';
const claude = '.claude/settings.json';
const codex = '.codex/config.toml';
const opencode = '.config/opencode/opencode.json';
const provider = '[model_providers.own]\nname = "own"\nbase_url = "https://own.example/v1" # ours\n';

const cases: Readonly<Record<string, Case>> = {
  'Claude Code without settings': {
    ...{ client: 'claude-code', file: claude, before: undefined },
    after: /^\{\n {2}"env": \{\n {4}"ANTHROPIC_BASE_URL": "http:\/\/127\.0\.0\.1:4777"\n {2}\}\n\}\n$/,
  },
  'Claude Code with a base URL and comments': {
    ...{ client: 'claude-code', file: claude, upstream: 'anthropic=https://own.example' },
    before: '{\n\t// mine\n\t"env": {"A": "1", "ANTHROPIC_BASE_URL": "https://own.example"},\n\t"model": "opus"\n}',
    after:
      /\/\/ mine\n\t"env": \{"A": "1", "ANTHROPIC_BASE_URL": "http:\/\/127\.0\.0\.1:4777"\},\n\t"model": "opus"\n\}$/,
  },
  'Codex with tables': {
    ...{ client: 'codex', file: codex, before: `model = "gpt-5.5"\n\n${provider}` },
    after: /^openai_base_url = "http:\/\/127\.0\.0\.1:4777\/v1"\nmodel = "gpt-5.5"\n\n\[model_providers/,
  },
  'Codex with a provider of its own': {
    ...{ client: 'codex', file: codex, upstream: 'openai=https://own.example' },
    before: `model_provider = "own"\n\n${provider}\n[tui]\n`,
    after: /own"\n\n\[model_providers\.own\]\nname = "own"\nbase_url = "http:\/\/127\.0\.0\.1:4777\/v1"\n/,
  },
  'Gemini CLI with other variables': {
    ...{ client: 'gemini', file: '.gemini/.env', before: 'GEMINI_API_KEY=k' },
    after: /^GEMINI_API_KEY=k\nGOOGLE_GEMINI_BASE_URL=http:\/\/127\.0\.0\.1:4777\n$/,
  },
  'opencode with a provider of its own': {
    ...{ client: 'opencode', file: opencode, upstream: 'openai=https://own.example' },
    before:
      '{"model": "own/m", "provider": {"own": {"options": {"apiKey": "k", "baseURL": "https://own.example/v1"}}}}',
    after: /"options": \{"apiKey": "k", "baseURL": "http:\/\/127\.0\.0\.1:4777\/v1"\}/,
  },
};

for (const [title, { client, file, before, after, upstream }] of Object.entries(cases)) {
  test(`the base URL is set once, and taken back byte for byte: ${title}`, async (context) => {
    const home = createHome(context);
    if (before !== undefined) home.put(file, before);
    assert.equal((await home.run('init', client, '--gateway', '--dry-run')).code, 0);
    assert.equal(home.read(file), before);
    const { code, out, err } = await home.run('init', client, '--gateway');
    assert.equal(code, 0, err);
    assert.match(out, /\+ .*127\.0\.0\.1:4777/);
    assert.ok(out.includes(`switchgear gateway${upstream === undefined ? '\n' : ` --upstream ${upstream}`}`), out);
    const changed = home.read(file)!;
    assert.match(changed, after);
    assert.match((await home.run('init', client, '--gateway')).out, /nothing to change/);
    assert.equal(home.read(file), changed);
    assert.equal((await home.run('init', client, '--gateway', '--undo')).code, 0);
    assert.equal(home.read(file), before);
  });
}

test('settings that were changed since keep the change, and a value of somebody else stays', async (context) => {
  const home = createHome(context);
  home.put(claude, '{\n  "model": "opus"\n}\n');
  await home.run('init', 'claude-code', '--gateway', '--url', 'http://127.0.0.1:5000/task/mine');
  const changed = home.read(claude)!;
  assert.match(changed, /"ANTHROPIC_BASE_URL": "http:\/\/127\.0\.0\.1:5000\/task\/mine"/);
  home.put(claude, changed.replace('opus', 'haiku'));
  await home.run('init', 'claude-code', '--gateway', '--undo');
  assert.equal(home.read(claude), '{\n  "model": "haiku"\n}\n');
  await home.run('init', 'claude-code', '--gateway');
  const other = home.read(claude)!.replace(url, 'https://other.example');
  home.put(claude, other);
  await home.run('init', 'claude-code', '--gateway', '--undo');
  assert.equal(home.read(claude), other);
});

test('Gemini CLI is also told that it has a key', async (context) => {
  const home = createHome(context);
  await home.run('init', 'gemini', '--gateway');
  assert.match(home.read('.gemini/settings.json')!, /"selectedType": "gemini-api-key"/);
  await home.run('init', 'gemini', '--gateway', '--undo');
  assert.deepEqual([home.read('.gemini/settings.json'), home.read('.gemini/.env')], [undefined, undefined]);
});

test('the doctor sends real calls: the one beyond the limit is refused, in the API of the client', async (context) => {
  const home = createHome(context);
  const { code, out } = await home.run('doctor', '--gateway');
  assert.equal(code, 0, out);
  for (const [client, status] of Object.entries({ 'claude-code': 402, codex: 400, gemini: 402, opencode: 402 }))
    assert.ok(out.includes(`${client}: a halt reaches the client: status ${status}`), out);
  await home.run('init', 'claude-code', '--gateway', '--url', 'http://127.0.0.1:9');
  const led = await home.run('doctor', '--gateway');
  assert.equal(led.code, 1);
  assert.match(led.out, /FAIL {2}claude-code: no gateway answers at http:\/\/127\.0\.0\.1:9: start it with/);
  assert.doesNotMatch(led.out, /codex/);
});
