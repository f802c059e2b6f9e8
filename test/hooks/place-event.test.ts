/** Where an event comes from: the host of its session, a second process, or a tool of the agent. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { assembleSwitchgear, runtimeOf } from '../../src/guard/internal.ts';
import type { HookLaunch, HookOrigin } from '../../src/hooks/hook-origin.ts';
import { type PlacedEvent, placeEvent } from '../../src/hooks/place-event.ts';
import type { HookContext } from '../../src/hooks/session/hook-tasks.ts';
import type { LockedSession } from '../../src/hooks/session/session-lock.ts';
import { emptySession } from '../../src/hooks/session/session-state.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { findProcess, type ProcessInfo } from '../../src/supervisor/process-table.ts';
import { readRecordedHosts } from '../../src/supervisor/recorded-agents.ts';

/** A host that is alive, and a process that never was. */
const host = findProcess(process.pid)!;
const tool: ProcessInfo = { ...host, pid: 4_000_001, parent: host.pid, began: '99999999999' };

const line = (text: string) => ['sh', '-c', text];
const own = 'switchgear hook claude-code';

function launchOf(each: ProcessInfo, surroundings = 'true pipe', between = [line(own)]): HookLaunch {
  return { host: each, between, surroundings };
}

function originOf(launch: HookLaunch | undefined, ancestors: readonly ProcessInfo[] = []): HookOrigin {
  const all = launch === undefined ? ancestors : [launch.host, ...ancestors];
  return { host: launch?.host, launch, ancestors: all, chain: { links: all, isComplete: true } };
}

/** A session on a store of its own; `place` returns the source of an event. */
function newPlace(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-place-'));
  const store = sqliteStore({ path: join(folder, 'state.db') });
  context.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const runtime = runtimeOf(assembleSwitchgear({ agent: 'claude-code', session: 's', store, env: {}, log: 'silent' }));
  const hook = { runtime, store, agent: 'claude-code', session: 's', conversationKey: 's' } as unknown as HookContext;
  const locked = { state: emptySession, source: 'host' } as unknown as LockedSession;
  const settings = join(folder, 'settings.json');
  const place = async (origin: HookOrigin, type: PlacedEvent['type'] = 'call-proposed') => {
    await placeEvent(hook, locked, { session: 's', type, origin, listSettings: () => [settings] });
    return locked.source;
  };
  return { store, locked, settings, place, cards: () => store.cards().map(({ evidence }) => evidence[0]) };
}

test('the first process that sends events is the host; the store records it and its launches', async (context) => {
  const { store, locked, place, cards } = newPlace(context);
  assert.equal(await place(originOf(launchOf(host)), 'prompt'), 'host');
  assert.equal(locked.state.isLearned, false);
  assert.equal(await place(originOf(launchOf(host))), 'host');
  assert.equal(locked.state.isLearned, true);
  assert.deepEqual(
    locked.state.hosts?.map(({ pid }) => pid),
    [host.pid],
  );
  const [recorded] = await readRecordedHosts(store, [host]);
  assert.equal(recorded?.session, 's');
  assert.deepEqual(recorded?.launches, locked.state.launches);
  assert.deepEqual(cards(), []);
});

test('before the first call, another launch of the host is learned; after it, it is a tool', async (context) => {
  const { place, cards } = newPlace(context);
  const piped = launchOf(host, 'true pipe', [line('cat | switchgear hook claude-code')]);
  assert.equal(await place(originOf(launchOf(host)), 'prompt'), 'host');
  assert.equal(await place(originOf(piped), 'prompt'), 'host');
  assert.equal(await place(originOf(launchOf(host))), 'host');
  assert.equal(await place(originOf(piped)), 'host');
  const forged = launchOf(host, 'true pipe', [line(`echo '{}' | ${own}`)]);
  assert.equal(await place(originOf(forged)), 'tool');
  assert.equal(await place(originOf(launchOf(host, 'true file'))), 'tool');
  assert.equal(await place(originOf(launchOf(host, 'false pipe'))), 'tool');
  assert.equal(cards().length, 1, 'one card for each session');
  assert.match(cards()[0] ?? '', /came from a tool of the agent and were not counted/);
  assert.equal(await place(originOf(launchOf(host))), 'host');
});

test('a new launch whose command stands in the settings is one of the host', async (context) => {
  const { place, settings } = newPlace(context);
  const installed = `cd "$X" && ${own}`;
  assert.equal(await place(originOf(launchOf(host))), 'host');
  const launch = launchOf(host, 'true pipe', [line(installed)]);
  assert.equal(await place(originOf(launch)), 'tool');
  writeFileSync(settings, JSON.stringify({ hooks: [{ command: installed }] }));
  assert.equal(await place(originOf(launch)), 'host');
  // The surroundings of the launch must be known all the same.
  assert.equal(await place(originOf({ ...launch, surroundings: 'true file' })), 'tool');
});

test('a program below the host that sends events is a tool, also without a host of its own', async (context) => {
  const { place } = newPlace(context);
  assert.equal(await place(originOf(launchOf(host))), 'host');
  assert.equal(await place(originOf(launchOf(tool), [host])), 'tool');
  assert.equal(await place(originOf(undefined, [tool, host])), 'tool');
  assert.equal(await place(originOf(undefined, [])), 'tool');
});

test('a process beside a living host that may be its descendant is another host, and is reported', async (context) => {
  const { place, cards } = newPlace(context);
  assert.equal(await place(originOf(launchOf(host))), 'host');
  assert.equal(await place(originOf(launchOf({ ...tool, parent: 1 }))), 'other host');
  assert.match(cards()[0] ?? '', /is used by a second process/);
});

test('a session passes to a process below one older than its host, or after its host has ended', async (context) => {
  const first = newPlace(context);
  const terminal = { ...host, pid: 4_000_002, parent: 2, began: '1' };
  assert.equal(await first.place(originOf(launchOf(host))), 'host');
  assert.equal(await first.place(originOf(launchOf({ ...tool, parent: terminal.pid }), [terminal])), 'host');
  const second = newPlace(context);
  assert.equal(await second.place(originOf(launchOf(tool))), 'host');
  assert.equal(await second.place(originOf(launchOf(host))), 'host');
});

test('the end of a session that a tool sends is not counted, and opens no card', async (context) => {
  const { place, cards } = newPlace(context);
  assert.equal(await place(originOf(launchOf(host))), 'host');
  assert.equal(await place(originOf(launchOf(host, 'true file')), 'session-ended'), 'tool');
  assert.deepEqual(cards(), []);
});

test('a host keeps its known launches in another session on the same store', async (context) => {
  const { place, locked } = newPlace(context);
  assert.equal(await place(originOf(launchOf(host))), 'host');
  locked.state = emptySession;
  assert.equal(await place(originOf(launchOf(host, 'true file'))), 'tool');
  assert.equal(await place(originOf(launchOf(host))), 'host');
});
