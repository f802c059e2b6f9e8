/** Starts the server of `switchgear serve` over one store. */

import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { SwitchgearError } from '../core/error.ts';
import { createRecentEntries } from '../operator/board/recent-entries.ts';
import { createTaskFamilies } from '../operator/board/task-families.ts';
import { createCardHistoryReader } from '../operator/inbox/card-history.ts';
import { createCardReader } from '../operator/inbox/card-reader.ts';
import { wakeSnoozedCards } from '../operator/inbox/snooze.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { type AlertOptions, watchAlerts } from './alerts/watch-alerts.ts';
import { createAuthenticator } from './http/authenticate.ts';
import { createEventFeed } from './http/event-feed.ts';
import { requestTimeoutMs, serverConnectionsMax, serverPortsTried, snoozeCheckMs } from './http/limits.ts';
import type { Route, ServerContext } from './http/route.ts';
import { createRouter } from './http/router.ts';
import { makeToken, type Role, startTokenName } from './http/tokens.ts';
import { renderOpenapi } from './openapi.ts';
import { pageRoutes } from './page/routes.ts';
import { alertRoutes } from './routes/alerts.ts';
import { breakerRoutes } from './routes/breakers.ts';
import { cardRoutes } from './routes/cards.ts';
import { chainRoutes } from './routes/chains.ts';
import { sessionRoutes } from './routes/session.ts';
import { storeRoutes } from './routes/store.ts';
import { taskRoutes } from './routes/tasks.ts';

/** The options of a server. */
export interface ServeOptions extends Pick<ServerContext, 'storeName' | 'findTripSettings' | 'metricCompat'> {
  readonly host: string;
  /** The first port that is tried; 0 = any free one. */
  readonly port: number;
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  /** More hosts under which the server may be addressed. */
  readonly allowedHosts: readonly string[];
  readonly userHeader?: string | undefined;
  /** What the printed token may do, and the user who starts the server. */
  readonly startRole: Role;
  readonly user: string;
  /** The address of the page in messages. @default the address of the server */
  readonly publicUrl?: string | undefined;
  /** The thresholds and webhooks; without them this server evaluates no alerts. */
  readonly alerts?: AlertOptions | undefined;
}

/** A server that runs. */
export interface RunningServer {
  readonly port: number;
  /** The address with the token of this server in its fragment, which browsers do not send. */
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

const routes: readonly Route[] = [
  ...storeRoutes,
  ...sessionRoutes,
  ...cardRoutes,
  ...breakerRoutes,
  ...taskRoutes,
  ...chainRoutes,
  ...pageRoutes,
  ...alertRoutes,
];

/** Starts a server; rejects if no port is free. */
export async function startServer(store: CrossProcessStore, options: ServeOptions): Promise<RunningServer> {
  const { storeName, findTripSettings, metricCompat, userHeader, allowedHosts, host, tls } = options;
  const { token, record } = makeToken(startTokenName, options.startRole, options.user, store.clock.wallMs());
  const scheme = tls === undefined ? 'http' : 'https';
  const cards = createCardReader(store);
  const readCardHistory = createCardHistoryReader(store, cards.invalidate);
  let port = 0;
  const context: ServerContext = {
    store,
    storeName,
    findTripSettings,
    metricCompat,
    authenticator: createAuthenticator(store, [record], () => port),
    feed: createEventFeed(store),
    readCardHistory,
    readCards: cards.read,
    readCardTimes: async () => (await readCardHistory()).times,
    readRecentEntries: createRecentEntries(store),
    findTaskFamily: createTaskFamilies(store),
    describe: () => renderOpenapi(routes),
  };
  const getHostRules = () => ({ port, scheme, allowed: allowedHosts.map((each) => each.toLowerCase()) }) as const;
  const listener = createRouter({ routes, context, getHostRules, userHeader: userHeader?.toLowerCase() });
  const limits = { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs, maxHeaderSize: 16_384 };
  const server = tls === undefined ? createServer(limits, listener) : createTlsServer({ ...tls, ...limits }, listener);
  server.maxConnections = serverConnectionsMax;
  server.on('clientError', (_, socket) => socket.destroy());
  port = await listenOnFreePort(server, host, options.port);
  const stopWaking = wakeRegularly(store);
  warmUp(context);
  const own = wildcardHosts[host] ?? host;
  const name = allowedHosts[0] ?? (own.includes(':') ? `[${own}]` : own);
  const address = /:\d+$/.test(name) && !name.endsWith(']') ? name : `${name}:${port}`;
  const pageUrl = (options.publicUrl ?? `${scheme}://${address}`).replace(/\/+$/, '');
  const alerts = options.alerts && watchAlerts({ store, storeName, pageUrl, readCardHistory, ...options.alerts });
  return {
    port,
    url: `${scheme}://${address}/#token=${token}`,
    token,
    async close() {
      stopWaking();
      cards.close();
      await alerts?.close();
      await closeServer(server, context);
    },
  };
}

/** Reads the cards before the first request asks for them; one that comes meanwhile waits for the same read. */
function warmUp({ readCardHistory, readCards }: ServerContext): void {
  // Without the store, the first request reads.
  readCardHistory()
    .then(readCards)
    .catch(() => undefined);
}

/** Brings snoozed cards back when their time is over; returns a function that stops it. */
function wakeRegularly(store: CrossProcessStore): () => void {
  const { clock } = store;
  let cancel = clock.after(snoozeCheckMs, function check() {
    cancel = clock.after(snoozeCheckMs, check);
    wakeSnoozedCards(store).catch(() => undefined); // The store is away; the next check tries again.
  });
  return () => cancel();
}

/** Addresses that stand for all of the machine, and the one of them that a browser here can use. */
const wildcardHosts: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

async function listenOnFreePort(server: Server, host: string, first: number): Promise<number> {
  for (let port = first; port < first + serverPortsTried; port++) {
    if (port > 65_535) break;
    const error = await listen(server, host, port);
    if (error === undefined) return (server.address() as AddressInfo).port;
    if (error.code !== 'EADDRINUSE') {
      throw new SwitchgearError('serve_failed', `the server cannot listen on ${host}, port ${port}: ${error.code}`);
    }
  }
  const lastPort = Math.min(first + serverPortsTried - 1, 65_535);
  throw new SwitchgearError('serve_failed', `no port from ${first} to ${lastPort} of ${host} is free: use --port`);
}

function listen(server: Server, host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const fail = (error: NodeJS.ErrnoException) => {
      server.removeListener('listening', succeed);
      resolve(error);
    };
    const succeed = () => {
      server.removeListener('error', fail);
      resolve(undefined);
    };
    server.once('error', fail);
    server.once('listening', succeed);
    server.listen({ host, port, exclusive: true });
  });
}

/** Ends the streams, lets requests finish for a moment, and closes the rest. */
function closeServer(server: Server, { feed, store }: ServerContext): Promise<void> {
  feed.close();
  return new Promise((resolve) => {
    const cancel = store.clock.after(closeGraceMs, () => server.closeAllConnections(), true);
    server.close(() => {
      cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** How long requests may take to finish when the server ends. */
const closeGraceMs = 1_000;
