import assert from 'node:assert/strict';
import test from 'node:test';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { parsePolicy } from '../../../src/policy/file/files.ts';
import { policyStarter } from '../../../src/policy/pages/starter.ts';
import { type PresetName, presets } from '../../../src/policy/table/presets.ts';

/** The settings of a starter without their comment signs; prose and the examples at the end stay comments. */
function uncomment(text: string): string {
  const [settings = ''] = text.split('# Single tools and agents');
  return settings.replace(/^# ([a-z_]+ = )/gm, '$1').replace(/^preset = "coding"$/m, '');
}

/** Settings that are off have no value, whether written or not. */
const plain = (settings: object): unknown => JSON.parse(JSON.stringify(settings));

test('the starter is a policy that changes nothing', () => {
  assert.deepEqual(parsePolicy(policyStarter(), 'switchgear.toml').settings, checkPolicy({}).settings);
});

test('every setting of the starter can be taken out of its comment, and has its default', () => {
  const { settings, provenance } = parsePolicy(uncomment(policyStarter()), 'switchgear.toml');
  assert.deepEqual(plain(settings), plain(checkPolicy({}).settings));
  const untouched = [...provenance].filter(([path, { source }]) => source === 'default' && path !== 'preset');
  assert.deepEqual(untouched, [], 'every setting of the table is in the starter');
});

test('the examples of the starter are valid', () => {
  const [, examples = ''] = policyStarter().split('rules: examples.\n');
  const { settings } = parsePolicy(examples.replace(/^# ?/gm, ''), 'switchgear.toml');
  assert.ok(settings.rules.length > 0);
});

for (const preset of Object.keys(presets) as PresetName[]) {
  test(`the starter of preset ${preset} has its values`, () => {
    const text = policyStarter(preset);
    const { settings } = checkPolicy({ preset });
    assert.deepEqual(parsePolicy(text, 'switchgear.toml').settings, settings);
    assert.deepEqual(plain(parsePolicy(uncomment(text), 'switchgear.toml').settings), plain(settings));
  });
}
