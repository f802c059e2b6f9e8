/**
 * An approver that posts the card to a URL. The answer is in the response or, after status 202, comes through the
 * store.
 */

import { SwitchgearError } from '../core/error.ts';
import { webhookBytesMax, webhookTimeoutMs } from '../core/limits.ts';
import { quoteValue } from '../core/quote.ts';
import type { Answer, Approver } from '../ports/approver.ts';

/** Options of `webhookApprover`. */
export interface WebhookOptions {
  /** `https:`, or any address of this machine. */
  readonly url: string;
  /**
   * Headers of the request, beside the content type.
   * @default {}
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Creates an approver that posts the question to a URL and waits for the answer.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { firstAnswer, terminalApprover, webhookApprover } from 'switchgear/approvers';
 *
 * const webhook = webhookApprover({ url: 'https://example.com/approvals', headers: { authorization: 'Bearer …' } });
 * const gear = createSwitchgear({ approver: firstAnswer(terminalApprover(), webhook) });
 */
export function webhookApprover({ url, headers = {} }: WebhookOptions): Approver {
  const address = parseUrl(url);
  return {
    name: `webhook ${address.host}`,
    async ask(card, signal) {
      const response = await fetch(address, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(card),
        redirect: 'error', // An answer from another address does not count.
        signal: AbortSignal.any([signal, AbortSignal.timeout(webhookTimeoutMs)]),
      });
      if (response.status === 202) return waitForAbort(signal);
      if (!response.ok) throw new Error(`${address.host} answered ${response.status}`);
      return parseAnswer(JSON.parse(await readBody(response)), address.host);
    },
  };
}

function parseUrl(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(address?.hostname ?? '');
  if (address?.protocol === 'https:' || (address?.protocol === 'http:' && isLoopback)) return address;
  throw new SwitchgearError(
    'invalid_argument',
    `the url of a webhook must start with https://, or be on this machine, got ${quoteValue(url)}`,
  );
}

/** Waits for the abort: the answer comes later through the store, to another approver. */
function waitForAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(new Error('the question was withdrawn before it was answered'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

async function readBody(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > webhookBytesMax) throw new Error(`the answer is longer than ${webhookBytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parseAnswer(body: unknown, host: string): Answer {
  const { approved, by, for: duration, args } = (body ?? {}) as Partial<Answer>;
  if (typeof approved !== 'boolean') throw new Error(`${host} answered without approved: true or false`);
  const answeredBy = typeof by === 'string' && by !== '' ? by : host;
  return {
    approved,
    by: answeredBy,
    ...((duration === 'run' || duration === 'always') && { for: duration }),
    ...(args !== undefined && { args }),
  };
}
