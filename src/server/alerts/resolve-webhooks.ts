/** Finds the addresses and secrets of webhooks, which are in variables and files and never in a policy. */

import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { WebhookSettings } from '../../core/declare/webhook-settings.ts';
import type { AlertWebhook } from '../../operator/alerts/alert-cells.ts';

/** A webhook that messages can be sent to, unless it has a problem. */
export interface Webhook extends AlertWebhook {
  readonly url?: URL;
  readonly secret?: Buffer;
}

/** The place where variables and files are looked up. */
export interface WebhookPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** Resolves the webhooks of a policy. A missing address or secret is a problem of that webhook alone. */
export function resolveWebhooks(settings: readonly WebhookSettings[], place: WebhookPlace): readonly Webhook[] {
  return settings.map((webhook) => {
    const { name, format, events, secretEnv, secretFile } = webhook;
    const isSigned = secretEnv !== undefined || secretFile !== undefined;
    const shown = { name, format, events, isSigned, host: '' };
    try {
      const url = parseAddress(webhook, place);
      const secret = isSigned ? parseSecret(readSecret(secretEnv, secretFile, place)) : undefined;
      return { ...shown, host: url.host, url, ...(secret && { secret }) };
    } catch (error) {
      return { ...shown, problem: (error as Error).message };
    }
  });
}

/** Reads the address; no message quotes it. */
function parseAddress({ url, urlEnv, urlFile }: WebhookSettings, place: WebhookPlace): URL {
  const text = (url ?? readSecret(urlEnv, urlFile, place)).trim();
  const address = URL.canParse(text) ? new URL(text) : undefined;
  if (address !== undefined && /^https?:$/.test(address.protocol)) return address;
  const where = urlEnv === undefined ? urlFile : `the variable ${urlEnv}`;
  throw new Error(`the address in ${where} does not start with https:// or http://`);
}

function readSecret(variable: string | undefined, file: string | undefined, { env, cwd }: WebhookPlace): string {
  if (variable !== undefined) {
    const value = env[variable];
    if (value === undefined || value.trim() === '') throw new Error(`the variable ${variable} is not set`);
    return value;
  }
  const path = isAbsolute(file!) ? file! : join(cwd, file!);
  try {
    const text = readFileSync(path, 'utf8').trim();
    if (text !== '') return text;
  } catch (error) {
    throw new Error(`the file ${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'error'}`);
  }
  throw new Error(`the file ${file} is empty`);
}

/** A secret is base64 after `whsec_`, or else the text itself. */
function parseSecret(text: string): Buffer {
  const [, encoded] = /^whsec_([A-Za-z0-9+/_=-]+)$/.exec(text.trim()) ?? [];
  return encoded === undefined ? Buffer.from(text.trim()) : Buffer.from(encoded, 'base64');
}
