/** `switchgear serve` as a person uses it: the real command on a store of its own, and its page in Chromium. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator } from 'playwright-core';
import type { Card } from '../../src/core/card.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { CrossProcessStore } from '../../src/ports/store.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { createTestHome, type StartedProcess, type TestHome } from '../cli/run/run-cli.ts';
import { until } from '../supervisor/processes.ts';
import { openPage, type PageOptions, patienceMs, type WatchedPage } from './browser.ts';

export type ViewName = 'Inbox' | 'History' | 'Standing approvals' | 'Breakers' | 'Tasks' | 'Chains' | 'Store';

export interface Served extends TestHome {
  readonly path: string;
  /** The printed address, with its token. */
  readonly url: string;
  readonly origin: string;
  /** Opens the page with the printed token, or another address of it; closed with all others after the tests. */
  open(options?: PageOptions & { readonly address?: string }): Promise<SignedInPage>;
  /** The store of the server, opened by this process. */
  openStore(clock?: Clock): SqliteStore;
  /** Adds a token and returns the address that signs in with it. */
  addToken(name: string, role: 'operator' | 'viewer'): Promise<string>;
  /** Ends the server, and starts it again on the same port. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** Starts an agent under `switchgear run` that waits for answers; ended with the test at the latest. */
  startAgent(args: readonly string[], env?: Readonly<Record<string, string>>): StartedProcess;
}

export interface SignedInPage extends WatchedPage {
  /** The open cards whose headline has these words. */
  card(words?: string | RegExp): Locator;
  /** The cards that wait for a decision; a decided card shows its effect for some seconds. */
  pending(): Locator;
  goTo(view: ViewName): Promise<void>;
  /** Waits until a region of the role `status`, or a card, says something. */
  hears(words: RegExp): Promise<void>;
}

export async function servePage(args: readonly string[] = []): Promise<Served> {
  const home = createTestHome();
  const path = home.store.slice('sqlite:'.length);
  const stores: SqliteStore[] = [];
  const children: StartedProcess[] = [];
  let server = home.start(['serve', '--port', '0', ...args]);
  const readUrl = async () => {
    await until(() => server.out().includes('\n') || server.child.exitCode !== null);
    const [url = ''] = /^http\S+/m.exec(server.out()) ?? [];
    assert.notEqual(url, '', server.err());
    return url;
  };
  let url = await readUrl();
  const { origin, port } = new URL(url);
  const stop = async () => {
    if (server.child.exitCode !== null || server.child.signalCode !== null) return;
    server.child.kill('SIGTERM');
    await once(server.child, 'exit');
  };
  const pages: WatchedPage[] = [];
  after(async () => {
    for (const { close } of pages) await close().catch(() => undefined);
    for (const { child } of children) child.kill('SIGKILL');
    for (const store of stores) store.close();
    await stop();
    home.clear();
  });
  return {
    ...home,
    path,
    origin,
    get url() {
      return url;
    },
    async open({ address = url, ...options } = {}) {
      const opened = await openSignedIn(address, options);
      pages.push(opened);
      return opened;
    },
    openStore(clock) {
      const store = sqliteStore({ path, ...(clock && { clock }) });
      stores.push(store);
      return store;
    },
    async addToken(name, role) {
      const { out, err } = await home.run(['serve', 'token', 'add', name, '--role', role]);
      const [token = ''] = /\S+\.[\w-]{20,}/.exec(out) ?? [];
      assert.notEqual(token, '', out + err);
      return `${origin}/#token=${token}`;
    },
    stop,
    async restart() {
      server = home.start(['serve', '--port', port, ...args]);
      url = await readUrl();
    },
    startAgent(words, env) {
      const started = home.start(['run', '--quiet', '--wait', '10m', ...words], env);
      started.child.stdin.end();
      children.push(started);
      const finished = Promise.race([started.finished, lateness(started)]);
      finished.catch(() => undefined); // Of an agent that no test waits for.
      return { ...started, finished };
    },
  };
}

/** An agent that goes on for too long is an error that says how it stands, not a test that hangs. */
async function lateness({ out, err, finished }: StartedProcess): Promise<never> {
  const ended = new AbortController();
  void finished.then(() => ended.abort());
  await sleep(3 * patienceMs, undefined, { signal: ended.signal, ref: false }).catch(
    () => new Promise(() => undefined),
  );
  throw new Error(`the agent still runs:\n${out()}${err()}`);
}

async function openSignedIn(address: string, options: PageOptions): Promise<SignedInPage> {
  const opened = await openPage(address, options);
  const { page } = opened;
  await page.getByRole('heading', { level: 1 }).waitFor();
  return {
    ...opened,
    card: (words) => page.getByRole('article', words === undefined ? {} : { name: words }),
    pending: () => page.getByRole('article').filter({ has: page.getByRole('button', { name: 'Not now…' }) }),
    async goTo(view) {
      const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: view });
      await link.click();
      await page.getByRole('main').getByRole('heading', { level: 1, name: view }).waitFor();
    },
    async hears(words) {
      await page.getByRole('status').or(page.getByRole('article')).filter({ hasText: words }).first().waitFor();
    },
  };
}

/** Waits until something on the page is so. */
export async function untilShown(isSo: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; !(await isSo()); looks++) {
    if (looks > 400) assert.fail(`waited in vain until ${isSo}`);
    await sleep(50);
  }
}

/** Puts cards into a store as the engine does: with the entry that tells the others. */
export async function putCards(store: CrossProcessStore, cards: readonly Card[]): Promise<void> {
  for (const card of cards) {
    store.putCard(card);
    store.append({ type: 'card-changed', card }, {}, store.clock.nowMs());
  }
  await store.shared.settled();
}
