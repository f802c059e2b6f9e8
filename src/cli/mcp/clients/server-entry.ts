/** Makes an entry of a client's configuration start its server through `switchgear mcp`, and back. */

import { isTable } from '../../../core/plain-copy.ts';
import { isSecretFlag, maskSecrets } from '../../../core/secret-shapes.ts';

export type ServerEntry = Readonly<Record<string, unknown>>;

/** What starts the proxy. */
export interface ProxyProgram {
  /** The program and its first arguments, up to `mcp`. */
  readonly words: readonly string[];
  /** Options for every server, such as `--store`. */
  readonly options: readonly string[];
  /** Whether the client means the old transport SSE by `url`, as Gemini CLI does. */
  readonly isUrlOld?: boolean;
}

/** Members that take the place of others: by the key that is replaced. An absent key is added. */
export type MemberChanges = ReadonlyMap<string, ServerEntry>;

/** A change of an entry, or why it stays as it is. */
export type EntryPlan = { readonly changes: MemberChanges } | { readonly left: string } | undefined;

/** Plans the change of an entry so that its server runs behind the proxy; undefined if it does already. */
export function planProxy(name: string, entry: ServerEntry, program: ProxyProgram): EntryPlan {
  const words = readCommand(entry);
  if (words === undefined) return planAddress(name, entry, program);
  const proxied = findProxy(words);
  if (proxied !== undefined && !proxied.isPlain) return undefined;
  const wanted = [...startProxy(name, program), '--', ...(proxied?.server ?? words)];
  return isSame(wanted, words) ? undefined : { changes: changeCommand(entry, wanted) };
}

function startProxy(name: string, { words, options }: ProxyProgram): readonly string[] {
  return [...words, 'mcp', ...(name === '' ? [] : ['--name', name]), ...options];
}

/** The variable in which the headers of a server go to the proxy: other users can read the words of a command. */
const headersVariable = 'MCP_HEADERS';

/** Plans the change of an entry with an address; an entry that would not work through the proxy is left as it is. */
function planAddress(name: string, entry: ServerEntry, program: ProxyProgram): EntryPlan {
  const { url, httpUrl, headers, type, env } = entry;
  const address = httpUrl ?? url;
  if (typeof address !== 'string') return { left: 'it has no command' };
  const isOldTransport = type === 'sse' || (program.isUrlOld === true && httpUrl === undefined && type !== 'http');
  if (isOldTransport) return { left: 'it uses the old transport SSE, which needs mcp-remote behind the proxy' };
  const { hostname, search, username, password } = URL.parse(address) ?? {};
  if (hostname === undefined || search || username || password || address.includes('${'))
    return { left: 'its address may hold a secret, which would be seen in the list of processes' };
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  const texts = isTable(headers) ? Object.entries(headers) : [];
  const signsIn = ['oauth', 'auth', 'headersHelper'].some((key) => Object.hasOwn(entry, key));
  if (signsIn || (texts.length === 0 && !isLocal))
    return { left: 'its client may have to sign in, which works only without the proxy' };
  if (env !== undefined || texts.some(([, text]) => typeof text !== 'string' || text.includes('\n')))
    return { left: 'its headers cannot be passed on' };
  const variables = { [headersVariable]: texts.map(([key, text]) => `${key}: ${text}`).join('\n') };
  const from = texts.length === 0 ? [] : ['--headers-from', headersVariable];
  const [command, ...args] = [...startProxy(name, program), '--url', address, ...from];
  return {
    changes: new Map<string, ServerEntry>([
      [httpUrl === undefined ? 'url' : 'httpUrl', { command, args }],
      ...(type === undefined ? [] : [['type', { type: 'stdio' }] as const]),
      ...(texts.length === 0 ? [] : [['headers', { env: variables }] as const]),
    ]),
  };
}

/** Plans the way back: changed members, or the whole entry of a server with an address; undefined without the proxy. */
export function planDirect(
  entry: ServerEntry,
): { readonly changes: MemberChanges } | { readonly whole: ServerEntry } | undefined {
  const { server, options = [] } = findProxy(readCommand(entry) ?? []) ?? {};
  if (server !== undefined) return { changes: changeCommand(entry, server) };
  const url = options[options.indexOf('--url') + 1];
  if (!options.includes('--url') || url === undefined) return undefined;
  const { command: _command, args: _args, env, type, ...rest } = entry;
  const lines = isTable(env) ? String(env[headersVariable] ?? '').split('\n') : [];
  const headers = Object.fromEntries(lines.filter((line) => line !== '').map((line) => line.split(/: (.*)/s, 2)));
  return {
    whole: {
      ...(type !== undefined && { type: 'http' }),
      url,
      ...rest,
      ...(Object.keys(headers).length > 0 && { headers }),
    },
  };
}

/** Whether the server of an entry runs behind the proxy. */
export function isProxied(entry: ServerEntry): boolean {
  return findProxy(readCommand(entry) ?? []) !== undefined;
}

/** The program and arguments of an entry; undefined if it has none. */
export function readCommand({ command, args = [] }: ServerEntry): readonly string[] | undefined {
  if (typeof command !== 'string' || !Array.isArray(args)) return undefined;
  return args.every((each) => typeof each === 'string') ? [command, ...(args as readonly string[])] : undefined;
}

/** The proxy in the command of an entry. */
export interface FoundProxy {
  /** The program and its arguments up to `mcp`. */
  readonly program: readonly string[];
  readonly options: readonly string[];
  /** Whether `init` writes such options, so that it may replace them. */
  readonly isPlain: boolean;
  /** The command behind the proxy; undefined if there is none. */
  readonly server: readonly string[] | undefined;
}

const ownProgram = /^switchgear(?:\.cjs|\.cmd|\.exe)?(?:@[\w.^~-]+)?$/;
const plainOptions = new Set(['--name', '--store', '--policy']);

/** Finds `switchgear mcp` in a command, directly or behind a launcher such as `npx`. */
export function findProxy(words: readonly string[]): FoundProxy | undefined {
  const at = words.findIndex((word, index) => ownProgram.test(lastName(word)) && words[index + 1] === 'mcp');
  const separator = words.indexOf('--');
  // A server may have such words among its own arguments.
  if (at === -1 || at > 3 || (separator !== -1 && separator < at)) return undefined;
  const program = words.slice(0, at + 2);
  if (separator === -1) return { program, options: words.slice(at + 2), isPlain: false, server: undefined };
  const options = words.slice(at + 2, separator);
  const isPlain = options.length % 2 === 0 && options.every((word, index) => index % 2 === 1 || plainOptions.has(word));
  return { program, options, isPlain, server: words.slice(separator + 1) };
}

function lastName(path: string): string {
  return path.split(/[\\/]/).at(-1)!;
}

function changeCommand(entry: ServerEntry, [command = '', ...args]: readonly string[]): MemberChanges {
  const hasArgs = Object.hasOwn(entry, 'args');
  if (!hasArgs) return new Map([['command', args.length === 0 ? { command } : { command, args }]]);
  return new Map<string, ServerEntry>([
    ['command', { command }],
    ['args', { args }],
  ]);
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word, index) => word === other[index]);
}

/** The members of a change as a person sees them, without secrets. */
export function maskMembers(members: ServerEntry): ServerEntry {
  return Object.fromEntries(
    Object.entries(members).map(([key, value]) => {
      if (Array.isArray(value)) return [key, maskWords(value as readonly string[])];
      if (isTable(value)) return [key, Object.fromEntries(Object.keys(value).map((name) => [name, mask]))];
      return [key, typeof value === 'string' ? maskWord(value) : value];
    }),
  );
}

const mask = '***';
/** Options whose value may be a secret, besides those whose name says so. */
const privateOption = /^(?:-H|--(?:header|auth|dsn))$/;

function maskWords(words: readonly string[]): readonly string[] {
  return words.map((word, index) => {
    const before = words[index - 1] ?? '';
    const isValue = isSecretFlag(before) || privateOption.test(before);
    return isValue && !word.startsWith('-') ? mask : maskWord(word);
  });
}

/** Masks secrets, and all values of the query of an address. */
function maskWord(word: string): string {
  return maskSecrets(word, () => mask).replace(/([?&][^\s=&]+=)[^\s&#]+/g, `$1${mask}`);
}
