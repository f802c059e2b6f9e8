/** Decides to which addresses a request may go: the hosts of the policy, else the public internet and this machine. */

import { BlockList, isIP } from 'node:net';
import { SwitchgearError } from '../../core/error.ts';
import { isMatch } from '../../core/glob.ts';
import { quoteValue } from '../../core/quote.ts';
import { AbilityError } from './ability.ts';

/** Ranges that are not public: private, local and reserved addresses, and IPv6 forms of IPv4 addresses. */
const nonPublicRanges = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/3', '::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/23'],
  ...['2001:db8::/32', '2002::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
];

const privateRanges = makeBlockList(nonPublicRanges);
const loopbackRanges = makeBlockList(['127.0.0.0/8', '::1/128']);

function makeBlockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', bits] = range.split('/');
    list.addSubnet(net, Number(bits), addressFamily(net));
  }
  return list;
}

function addressFamily(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}

/** The addresses that a request to a URL may use. */
export interface AllowedTarget {
  /** Whether an address that the host name resolved to may be used. */
  mayReach(address: string): boolean;
  readonly isLoopback: boolean;
}

/** A host to which requests may go, or several hosts with `*`. */
export interface HostPattern {
  readonly scheme: string;
  readonly host: string;
  readonly port: string | undefined;
}

/** Parses the hosts of a policy. Throws on an invalid host, which would otherwise silently match nothing. */
export function parseHostPatterns(texts: readonly string[]): readonly HostPattern[] {
  return texts.map((text, at) => {
    const [, scheme = 'https', host, port] =
      /^(?:(https?):\/\/)?(\[[\da-f:.]+\]|[\p{L}\p{N}*._-]+)(?::(\d{1,5}))?\/?$/iu.exec(text.trim()) ?? [];
    if (host === undefined || Number(port ?? 0) > 65_535) {
      const what = 'must be a host such as example.com, http://example.com or example.com:8080';
      throw new SwitchgearError('invalid_policy', `abilities.http_hosts[${at}] ${what}, got ${quoteValue(text)}`);
    }
    return { scheme: scheme.toLowerCase(), host: host.toLowerCase(), port };
  });
}

/** Throws if a request may not be sent. A redirect may lead to this machine only from this machine. */
export function checkUrl(url: URL, hosts: readonly HostPattern[], mayBeLocal: boolean): AllowedTarget {
  const { protocol, hostname: host } = url;
  if (protocol !== 'https:' && protocol !== 'http:') throw deniedError(`${protocol}// is neither https:// nor http://`);
  if (url.username !== '' || url.password !== '')
    throw deniedError('the URL contains a user name or password: use headers');
  const port = url.port || (protocol === 'https:' ? '443' : '80');
  const matches = hosts.filter((pattern) => isMatch(pattern.host, host) && (pattern.port ?? port) === port);
  if (hosts.length > 0 && matches.length === 0)
    throw deniedError(`the host ${url.host} is not in abilities.http_hosts`);
  const isNamed = matches.some((pattern) => pattern.host === host);
  const address = host.replace(/^\[|\]$/g, '');
  const isLoopback = host === 'localhost' || (isIP(address) !== 0 && isLoopbackAddress(address));
  if (isLoopback && !mayBeLocal && !isNamed)
    throw deniedError(`the redirect to ${url.host} leads to this machine: list it in abilities.http_hosts to allow it`);
  if (protocol === 'http:' && !isLoopback && !matches.some(({ scheme }) => scheme === 'http'))
    throw deniedError(
      `http://${url.host} is not encrypted: use https://, or list it in abilities.http_hosts with http://`,
    );
  const mayReach = (to: string) =>
    isNamed || !privateRanges.check(to, addressFamily(to)) || (isLoopback && isLoopbackAddress(to));
  if (isIP(address) !== 0 && !mayReach(address)) throw privateAddressError(host, address);
  return { isLoopback, mayReach };
}

function isLoopbackAddress(address: string): boolean {
  return loopbackRanges.check(address, addressFamily(address));
}

/** The error for a name that resolves to a private address; a pattern with `*` does not allow private addresses. */
export function privateAddressError(host: string, address: string): AbilityError {
  const way = host === address ? '' : ` resolves to ${address}, which`;
  return deniedError(`${host}${way} is a private address: list ${host} in abilities.http_hosts to reach it`);
}

function deniedError(message: string): AbilityError {
  return new AbilityError(`not requested: ${message}`, { name: 'PolicyDenied' });
}
