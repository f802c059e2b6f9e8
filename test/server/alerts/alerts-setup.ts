/** Alerts over a store with small thresholds, and a receiver of webhooks that keeps what it gets. */

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import type { AlertSettings } from '../../../src/core/settings.ts';
import type { Webhook } from '../../../src/server/alerts/resolve-webhooks.ts';
import type { AlertOptions } from '../../../src/server/alerts/watch-alerts.ts';

/** A request that a receiver got. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages of many shapes.
  readonly json: any;
}

/** A receiver on this machine; `answer` says with which status, by default 200. */
export async function startReceiver(answer: (count: number) => number | 'hang' = () => 200) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      received.push({ headers: request.headers, body, json: JSON.parse(body) });
      const status = answer(received.length);
      if (status !== 'hang') response.writeHead(status).end('x'.repeat(10));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`) };
}

/** A webhook to an address. */
export function makeWebhook(url: URL, webhook: Partial<Webhook> = {}): Webhook {
  return { name: 'ops', host: url.host, format: 'json', events: ['alerts'], isSigned: false, url, ...webhook };
}

/** Alerts that are evaluated all the time. */
export function quickAlerts(settings: Partial<AlertSettings> = {}, webhooks: readonly Webhook[] = []): AlertOptions {
  return { settings: { ...defaultSettings.alerts, ...settings }, webhooks, evaluateMs: 10, deliverMs: 10 };
}

/** Waits until a value is there. */
export async function until<T>(read: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const value = await read();
    if (value !== undefined && value !== false) return value;
    await sleep(10);
  }
}
