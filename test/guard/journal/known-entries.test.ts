/** A listener of an entry type that does not exist would never be called. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';

test('gear.on throws on an unknown type and names the types that are alike', () => {
  using gear = createSwitchgear({ log: 'silent', env: {} });
  assert.throws(
    () => gear.on('breaker-opend' as never, () => {}),
    /no entry has the type "breaker-opend"; there are breaker-opened, breaker-tuned/,
  );
  for (const type of ['halt', 'toString']) {
    assert.throws(() => gear.on(type as never, () => {}), /no entry has the type .*; see docs\/reference\/entries\.md/);
  }
  for (const type of ['', undefined, 3, null]) {
    assert.throws(() => gear.on(type as never, () => {}), /the type of an entry must be a text/);
  }
  assert.throws(() => gear.on('breaker-opened', undefined as never), /a listener must be a function/);
  assert.throws(() => gear.onEntry('breaker-opened' as never), /a listener must be a function/);
});

test('gear.on takes every type that the reference page has', () => {
  using gear = createSwitchgear({ log: 'silent', env: {} });
  const page = readFileSync(new URL('../../../docs/reference/entries.md', import.meta.url), 'utf8');
  const types = [...page.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z-]+)`/g)].map(([, type]) => type as never),
  );
  assert.ok(types.length > 50);
  for (const type of types) gear.on(type, () => {})();
});
