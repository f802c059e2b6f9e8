/** A change of the public API is seen in review. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { defaultSettings } from '../src/core/controls/defaults.ts';
import { describeApi } from '../tools/public-api.ts';
import { type EntryPoint, listEntryPoints, listExports, listFiles, readText, root } from './harness/source.ts';

test('the declarations of every entry point equal the files in api/ and the pages in docs/reference/api/', () => {
  const { declarations, pages } = describeApi();
  const advice = 'the public API changed. If the change is meant, run `npm run api` and commit the files';
  for (const [folder, files] of [
    ['api', declarations],
    ['docs/reference/api', pages],
  ] as const) {
    assert.deepEqual(readdirSync(join(root, folder)).sort(), [...files.keys()].sort(), advice);
    for (const [file, text] of files) assert.equal(text, readText(`${folder}/${file}`), `${folder}/${file}: ${advice}`);
  }
});

/** The names that an entry point has at run time. */
async function listValues(entryPoint: EntryPoint): Promise<string[]> {
  const path = join(root, entryPoint.path);
  if (!existsSync(path))
    throw new Error(`${entryPoint.name} has no ${entryPoint.path}: write it, or take it out of package.json`);
  return Object.keys((await import(pathToFileURL(path).href)) as object).sort();
}

test('each entry point exports exactly the names of its declaration', async () => {
  for (const door of listEntryPoints()) {
    const { values } = listExports(readText(door.path));
    assert.deepEqual(values, await listValues(door), `${door.path}: write its exports as export { … } from '…'`);
  }
});

test('a name that two entry points export is the same value in both', async () => {
  const known = new Map<string, { readonly value: unknown; readonly door: string }>();
  for (const door of listEntryPoints()) {
    if (door.name.startsWith('switchgear/adapters/')) continue; // One verb for all of them.
    const names = (await import(`../${door.path}`)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(names)) {
      const other = known.get(name);
      if (other !== undefined)
        assert.equal(value, other.value, `${name} of ${door.name} is not the one of ${other.door}`);
      known.set(name, { value, door: door.name });
    }
  }
});

/** The members of an interface with their doc comments. */
function readMembers(
  body: string,
): readonly { readonly name: string; readonly doc: string; readonly optional: boolean }[] {
  return [...body.matchAll(/((?:^ {2}\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?)^ {2}readonly (\w+)(\??):/gm)].map(
    ([, doc = '', name = '', mark]) => ({ name, doc, optional: mark === '?' }),
  );
}

function* readInterfaces(text: string) {
  for (const [, name = '', body = ''] of text.matchAll(/^export interface (\w+)[^{\n]*\{\n([\s\S]*?)^\}/gm)) {
    yield { name, members: readMembers(body) };
  }
}

test('the doc comment of every option contains its default', () => {
  const declared = readdirSync(join(root, 'api')).map((file) => readText(`api/${file}`));
  const options = new Set(
    [...declared.join('\n').matchAll(/^export interface (\w+Options|MaxCost)\b/gm)].map(([, name]) => name),
  );
  const checked = listFiles()
    .filter((path) => /^src\/.*\.ts$/.test(path))
    .flatMap((path) => [...readInterfaces(readText(path))])
    .filter(({ name }) => options.has(name))
    .flatMap(({ name, members }) => members.filter(({ optional }) => optional).map((member) => ({ name, member })));
  assert.ok(checked.length > 90, `only ${checked.length} options were found`);
  const missing = checked.filter(({ member }) => !member.doc.includes('@default'));
  assert.deepEqual(
    missing.map(({ name, member }) => `${name}.${member.name}`),
    [],
  );
});

test('the default in the doc comment of a setting is the default in use', () => {
  const { circuitBreaker, loop, task, delegation, ruleSettings, approval, prices, journal, alerts } = defaultSettings;
  const values: Record<string, object> = {
    BreakerSettings: circuitBreaker,
    LoopSettings: loop,
    TaskSettings: task,
    DelegationSettings: delegation,
    RuleSettings: ruleSettings,
    ApprovalSettings: approval,
    PriceSettings: prices,
    JournalSettings: journal,
    AlertSettings: alerts,
  };
  let checked = 0;
  for (const { name, members } of readInterfaces(readText('src/core/settings.ts'))) {
    const settings = values[name] as Record<string, unknown> | undefined;
    for (const member of settings === undefined ? [] : members) {
      const text = /@default (.*?)\s*(?:\*\/|$)/m.exec(member.doc)?.[1]?.replace(/ \(.*\)$/, '');
      const value = settings![member.name];
      const written = inspect(value, { breakLength: Number.POSITIVE_INFINITY, numericSeparator: false });
      assert.equal(text, written === '[]' ? '[]' : written.replace(/^\[ (.*) \]$/, '[$1]'), `${name}.${member.name}`);
      checked += 1;
    }
  }
  assert.ok(checked > 70, `only ${checked} settings were checked`);
});
