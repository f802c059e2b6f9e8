/** Sends a message to a webhook, signed as Standard Webhooks describes: HMAC-SHA-256 over id, time and body. */

import { createHmac } from 'node:crypto';
import { textOf } from '../../core/foreign-text.ts';
import { retryMaxMs, sendTimeoutMs } from './limits.ts';
import { cleanText, formatMessage, type Message } from './message.ts';
import type { Webhook } from './resolve-webhooks.ts';

/** How an attempt ended. */
export interface SendResult {
  readonly isDelivered: boolean;
  /** The status of the answer, or the error, without the address. */
  readonly detail: string;
  /** The wait that the receiver asks for. */
  readonly retryAfterMs?: number;
}

/** Sends once; never throws. Redirects are not followed, and the body of the answer is not read. */
export async function sendMessage(webhook: Webhook, message: Message, wallMs: number): Promise<SendResult> {
  if (webhook.url === undefined) return { isDelivered: false, detail: webhook.problem ?? 'no address' };
  const body = formatMessage(message, webhook.format);
  try {
    const { url, headers } = splitCredentials(webhook.url);
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        ...signatureHeaders(webhook, message.id, body, wallMs),
        'content-type': 'application/json',
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(sendTimeoutMs),
    });
    await response.body?.cancel().catch(() => undefined);
    const after = Number(response.headers.get('retry-after'));
    return {
      isDelivered: response.ok,
      detail: `status ${response.status}`,
      ...(after > 0 && { retryAfterMs: Math.min(after * 1000, retryMaxMs) }),
    };
  } catch (error) {
    return { isDelivered: false, detail: describeError(error) };
  }
}

/** `fetch` refuses an address with a password, so that it becomes a header. */
function splitCredentials(address: URL) {
  const url = new URL(address);
  const { username, password } = url;
  if (username === '' && password === '') return { url, headers: {} };
  url.username = '';
  url.password = '';
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { url, headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` } };
}

/** The headers with which a receiver finds repeats and checks where a message comes from. */
function signatureHeaders({ secret }: Webhook, id: string, body: string, wallMs: number) {
  const timestamp = String(Math.floor(wallMs / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'user-agent': 'switchgear' };
  if (secret === undefined) return headers;
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}

/** The name and code of an error; its message may have the address. */
function describeError(error: unknown): string {
  const { name, cause } = (error ?? {}) as { readonly name?: unknown; readonly cause?: { readonly code?: unknown } };
  if (name === 'TimeoutError') return `no answer within ${sendTimeoutMs / 1000} s`;
  return cleanText(textOf(cause?.code ?? name ?? 'error', { characters: 100 }));
}
