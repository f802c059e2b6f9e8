/** `switchgear alerts`: the rules in force, and test messages to the webhooks of a policy that is trusted. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { main } from '../../../src/cli/main.ts';
import { startReceiver } from '../../server/alerts/alerts-setup.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-alerts-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function run(args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const env = { HOME: folder, SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}`, ...more };
  const code = await main(args, { cwd: folder, env, userHome: folder, out: print, err: print });
  return { code, text: lines.join('\n') };
}

test('without a server the rules of the policy are shown, with those that are off', async () => {
  writeFileSync(join(folder, 'given.toml'), '[alerts]\nfailure_rate = "none"\ntrips_per_hour = 3\n');
  const { code, text } = await run(['alerts'], { SWITCHGEAR_POLICY: join(folder, 'given.toml') });
  assert.equal(code, 0);
  assert.match(text, /Not evaluated: no switchgear serve runs on this store/);
  assert.match(text, /BreakerTrips +more than 3 trips in an hour/);
  assert.match(text, /FailureRate +off/);
  assert.match(text, /Nothing fires/);
});

test('a test message goes to the webhooks of a given policy, and not to those of a found one', async () => {
  const { received, url } = await startReceiver();
  const policy = `[[webhooks]]\nname = "ops"\nurl = "${url}"\n`;
  writeFileSync(join(folder, 'switchgear.toml'), policy);
  const found = await run(['alerts', 'test']);
  assert.equal(found.code, 2);
  assert.match(found.text, /webhooks loosens and waits for: switchgear policy trust/);
  assert.match(found.text, /: the webhooks of switchgear.toml wait for: switchgear policy trust/);
  assert.equal(received.length, 0);
  const given = await run(['alerts', 'test', 'ops'], { SWITCHGEAR_POLICY: join(folder, 'switchgear.toml') });
  assert.deepEqual([given.code, received.length, received[0]?.json.type], [0, 1, 'test']);
  assert.match(given.text, /ops: delivered \(status 200\)/);
  const unknown = await run(['alerts', 'test', 'pos'], { SWITCHGEAR_POLICY: join(folder, 'switchgear.toml') });
  assert.match(unknown.text, /there is no webhook "pos"; there are ops/);
});
