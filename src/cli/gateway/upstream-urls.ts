/** Parses the addresses of providers. */

import { type ProviderName, providerUrls } from '../../gateway/providers.ts';
import { usageError } from '../command.ts';

/** Parses one address for all providers, or `NAME=URL` for some of them. */
export function parseUpstreams(option: string, text: string | undefined): Partial<Record<ProviderName, URL>> {
  const names = Object.keys(providerUrls) as readonly ProviderName[];
  const urls: Partial<Record<ProviderName, URL>> = {};
  for (const part of text?.split(',') ?? []) {
    const [, name, url = part] = /^([a-z]+)=(.*)$/.exec(part) ?? [];
    const known = names.find((each) => each === name);
    if (name !== undefined && known === undefined)
      throw usageError(`${option} must name ${names.join(', ')}, got ${JSON.stringify(name)}`);
    for (const each of known === undefined ? names : [known]) urls[each] = parseUrl(option, url);
  }
  return urls;
}

export function parseUrl(option: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.search + url.hash === '';
  if (isPlain) return url;
  throw usageError(`${option} must be an address such as https://api.example.com, got ${JSON.stringify(text)}`);
}
