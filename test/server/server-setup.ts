/** A real server over a store, and a client that sends exactly the headers it is given. */

import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request as startRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { defaultBreaker } from '../../src/core/controls/breaker/defaults.ts';
import type { CrossProcessStore } from '../../src/ports/store.ts';
import { type RunningServer, type ServeOptions, startServer } from '../../src/server/start-server.ts';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-server-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** A new store in a file. */
export function openFileStore(): SqliteStore {
  return sqliteStore({ path: join(folder, `${++files}.db`) });
}

export type Headers = Readonly<Record<string, string | readonly string[]>>;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes.
  readonly json: any;
}

export interface TestServer extends RunningServer {
  /** Sends a request as a page of this server does: with its headers and the printed token, unless others are given. */
  send(method: string, path: string, body?: unknown, headers?: Headers): Promise<Answer>;
}

/** Servers of tests that failed are closed after the last test. */
const running = new Set<RunningServer>();
after(() => Promise.all([...running].map((server) => server.close())));

export async function serve(store: CrossProcessStore, options: Partial<ServeOptions> = {}): Promise<TestServer> {
  const server = await startServer(store, {
    ...{ host: '127.0.0.1', port: 0, allowedHosts: [], startRole: 'operator', user: 'ann', storeName: 'test' },
    findTripSettings: async (_, secs) => ({
      ...defaultBreaker,
      ...(secs !== undefined && { recoveryTimeoutSecs: secs }),
    }),
    ...options,
  });
  running.add(server);
  return {
    ...server,
    async close() {
      running.delete(server);
      await server.close();
    },
    send(method, path, body, headers = {}) {
      const own = { authorization: `Bearer ${server.token}`, 'x-switchgear': '1', 'content-type': 'application/json' };
      return send(server.port, method, path, body === undefined ? '' : JSON.stringify(body), { ...own, ...headers });
    },
  };
}

/** Sends a request; a header with an empty value is left out. */
export function send(port: number, method: string, path: string, body: string, headers: Headers): Promise<Answer> {
  const given = Object.entries(headers).filter(([, value]) => value !== '');
  return new Promise((resolve, reject) => {
    const sent = startRequest({
      ...{ host: '127.0.0.1', port, method, path, agent: false },
      headers: { ...Object.fromEntries(given), ...(body !== '' && { 'content-length': Buffer.byteLength(body) }) },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        const isJson = response.headers['content-type']?.startsWith('application/json') === true && text !== '';
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: isJson ? JSON.parse(text) : undefined,
        });
      });
    });
    sent.end(body);
  });
}
