/** The pages and tables that come from the declarations of controls are current, and the declarations are complete. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../src/core/controls/defaults.ts';
import { controlDeclarations, panelDeclarations } from '../src/core/controls/registry.ts';
import { renderReference } from '../tools/reference-pages.ts';
import { readText } from './harness/source.ts';

for (const [path, text] of renderReference()) {
  test(`${path} is current: npm run reference`, () => {
    const written = readText(path);
    if (path.endsWith('.json')) assert.deepEqual(JSON.parse(written), JSON.parse(text));
    else assert.equal(written, text);
  });
}

test('a control has the name and the scope that its declaration states', () => {
  for (const { name, scope, create } of panelDeclarations) {
    const control = create(defaultSettings);
    if (control !== undefined) assert.deepEqual([control.name, control.scope], [name, scope]);
  }
});

test('every control has a unique name and a summary', () => {
  const names = controlDeclarations.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { name, summary } of controlDeclarations) {
    for (const text of Object.values(summary)) assert.ok(text.length > 0 && !text.endsWith('.'), `${name}: ${text}`);
  }
});
