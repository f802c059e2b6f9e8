import assert from 'node:assert/strict';
import test from 'node:test';
import { createSwitchgear } from '../../../src/index.ts';
import { createTaskFamilies } from '../../../src/operator/board/task-families.ts';
import { readTimelineRows } from '../../../src/operator/board/timeline-rows.ts';
import { readTimeline } from '../../../src/operator/timeline.ts';
import { openFileStore } from '../../server/server-setup.ts';

/** A task with a child, calls that succeed and fail, and another task beside it. */
async function recordTasks() {
  const store = openFileStore();
  const policy = { journal: { level: 'all' } } as const;
  const gear = createSwitchgear({ store, agent: 'a', project: 'shop', log: 'silent', env: {}, policy });
  const work = gear.guard('work', async (fails: boolean) => {
    if (fails) throw new RangeError('too far');
    return 'done';
  });
  await gear.task({ id: 'other' }, () => work(false));
  await gear.task({ id: 'root', limits: { maxToolCalls: 2 } }, async () => {
    await work(false);
    await gear.task({ id: 'child' }, () => work(true).catch(() => undefined));
    await work(false);
    await work(false);
  });
  await store.shared.settled();
  const findFamily = createTaskFamilies(store);
  return { store, findFamily };
}

test('rows have tracks, begins and ends of calls, marks, and what counts as a call', async () => {
  const { store, findFamily } = await recordTasks();
  const { rows, hasEarlier } = await readTimelineRows(store, await findFamily('root'), { limit: 1_000 });
  assert.deepEqual(new Set(rows.map(({ task }) => task)), new Set(['root', 'child']));
  assert.equal(hasEarlier, false);
  const begun = rows.filter(({ call }) => call?.phase === 'begin').map(({ call }) => call?.id);
  const ended = rows.filter(({ call }) => call?.phase === 'end').map(({ call }) => call?.id);
  assert.deepEqual([begun.length, begun], [3, ended]);
  assert.ok(rows.every(({ call, track }) => (call === undefined) === (track === 'task') || track === 'tool'));
  const marks = rows.flatMap(({ mark, type, task }) => (mark === undefined ? [] : [`${task} ${type} ${mark}`]));
  assert.ok(marks.includes('child action-settled failed'), marks.join());
  assert.ok(marks.includes('root task-halted halted'), marks.join());
  assert.equal(rows.filter(({ counts, task }) => counts === true && task === 'root').length, 3);
  assert.match(rows.find(({ type }) => type === 'task-halted')?.words ?? '', /2/);
  store.close();
});

test('rows are read in pages from the end, and after an entry, and only trouble', async () => {
  const { store, findFamily } = await recordTasks();
  const family = await findFamily('root');
  const all = await readTimelineRows(store, family, { limit: 1_000 });
  const newest = await readTimelineRows(store, family, { limit: 4 });
  assert.deepEqual(newest.rows, all.rows.slice(-4));
  assert.equal(newest.hasEarlier, true);
  const earlier = await readTimelineRows(store, family, { limit: 3, before: newest.first });
  assert.deepEqual(earlier.rows, all.rows.slice(-7, -4));
  const later = await readTimelineRows(store, family, { limit: 2, after: all.rows[2]!.seq });
  assert.deepEqual(later.rows, all.rows.slice(3, 5));
  const none = await readTimelineRows(store, family, { limit: 9, after: all.last });
  assert.deepEqual([none.rows, none.last], [[], all.last]);
  const far = await readTimelineRows(store, family, { limit: 9, before: Number.MAX_SAFE_INTEGER });
  assert.deepEqual(far.rows, all.rows.slice(-9));
  const trouble = await readTimelineRows(store, family, { limit: 1_000, onlyTrouble: true });
  assert.ok(trouble.rows.length > 0 && trouble.rows.every(({ mark }) => mark !== undefined && mark !== 'notice'));
  store.close();
});

test('a family learns of tasks that start later, and the entries of a task are those of its family', async () => {
  const { store, findFamily } = await recordTasks();
  assert.deepEqual([...(await findFamily('root')).ids], ['root', 'child']);
  assert.deepEqual([...(await findFamily('child')).ids], ['child']);
  const gear = createSwitchgear({ store, agent: 'a', log: 'silent', env: {} });
  const task = gear.startTask({ id: 'late' });
  await task.run(() => gear.task({ id: 'below' }, async () => undefined));
  await store.shared.settled();
  const family = await findFamily('late');
  assert.deepEqual([...family.ids], ['late', 'below']);
  const page = await readTimeline(store, family, 0, 2);
  assert.deepEqual(
    page.entries.map(({ type }) => type),
    ['task-started', 'task-started'],
  );
  assert.equal(page.next, page.entries[1]?.seq);
  const rest = await readTimeline(store, family, page.next!, 10);
  assert.deepEqual([rest.entries.map(({ type }) => type), rest.next], [['task-ended'], undefined]);
  gear.dispose();
});
