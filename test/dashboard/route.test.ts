/** The addresses of the page. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatRoute, parseRoute, readTokenFragment } from '../../dashboard/src/logic/route.ts';

test('an address names a view, what it shows, and a query', () => {
  assert.deepEqual(parseRoute('#/inbox'), { view: 'inbox', query: {} });
  assert.deepEqual(parseRoute('#/breakers/a%2Fb'), { view: 'breakers', param: 'a/b', query: {} });
  assert.deepEqual(parseRoute('#/tasks/t-1?only=refused'), { view: 'tasks', param: 't-1', query: { only: 'refused' } });
});

test('an unknown or broken address is the inbox', () => {
  for (const hash of ['', '#', '#/', '#/nothing', '#token=x', '#/__proto__', '#/constructor/x'])
    assert.deepEqual(parseRoute(hash), { view: 'inbox', query: {} }, hash);
  assert.equal(parseRoute('#/tasks/%E0%A4%A').param, '%E0%A4%A');
});

test('each address that is made is read as it was meant', () => {
  for (const param of ['a', 'a/b', 'ä ?#%', '../..', 'x?y=1'])
    assert.equal(parseRoute(formatRoute('chains', param)).param, param);
  assert.deepEqual(parseRoute(formatRoute('tasks', 't', { only: 'a b&c' })).query, { only: 'a b&c' });
  assert.equal(formatRoute('store'), '#/store');
  assert.equal(formatRoute('tasks', 'x\ud800y'), '#/tasks/x%EF%BF%BDy', 'a name with half a character has an address');
});

test('the token is read from the address that the server prints, and from no other', () => {
  assert.equal(readTokenFragment('#token=start.a-b_c'), 'start.a-b_c');
  assert.equal(readTokenFragment('#/inbox?token=x'), undefined);
  assert.equal(readTokenFragment('#token='), undefined);
});
