/** The features that controls declare: numbers in the action, equal for equal values, whatever the arguments are. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FeatureDeclaration } from '../../src/core/declare/control-declaration.ts';
import { runtimeOf } from '../../src/guard/internal.ts';
import { callSiteFor, targetFor } from '../../src/guard/route/call-site.ts';
import { makeAction } from '../../src/guard/route/proposal.ts';
import { createSwitchgear } from '../../src/index.ts';

const url: FeatureDeclaration = { name: 'url', read: (_, [first]) => (first as { url?: string } | undefined)?.url };

function featuresOf(...args: unknown[]) {
  const runtime = runtimeOf(createSwitchgear({ log: 'silent', env: {} }));
  const site = { ...callSiteFor(runtime, targetFor(runtime, 'get', 'tool'), undefined), features: [url] };
  return makeAction(runtime, site, args, {}).features;
}

test('a feature hashes the value of an argument: equal for equal values, and without the value itself', () => {
  const first = featuresOf({ url: 'https://a.example/1' });
  assert.equal(typeof first?.url, 'number');
  assert.deepEqual(featuresOf({ url: 'https://a.example/1' }), first);
  assert.notDeepEqual(featuresOf({ url: 'https://b.example/1' }), first);
});

test('a call without the value has no feature, and arguments that cannot be read count as one value', () => {
  assert.deepEqual(featuresOf(), {});
  assert.deepEqual(featuresOf({ other: 1 }), {});
  const gone = Proxy.revocable({}, {});
  gone.revoke();
  const hostile = {
    get url(): string {
      throw new Error('no');
    },
  };
  assert.deepEqual(featuresOf(gone.proxy), { url: 1 });
  assert.deepEqual(featuresOf(hostile), { url: 1 });
});

test('an action has no features unless a control needs them', () => {
  const runtime = runtimeOf(createSwitchgear({ log: 'silent', env: {} }));
  const site = callSiteFor(runtime, targetFor(runtime, 'get', 'tool'), undefined);
  assert.equal('features' in makeAction(runtime, site, [{ url: 'https://a.example' }], {}), false);
});
