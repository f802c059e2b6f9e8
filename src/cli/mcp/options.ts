/** The options of `switchgear mcp`: the server, by its command, its URL or its entry in the file of a client. */

import { basename, resolve } from 'node:path';
import { type ParsedArgs, readArgs, type Terminal, usageError } from '../command.ts';

const valueOptions = [
  ...['--store', '--policy', '--name', '--agent', '--session'],
  ...['--url', '--listen', '--allow-host', '--config', '--server'],
];
const knownSwitches = ['--no-restart'];
const commandHint = 'mcp: write the command of the server after --';

/** A server that is started, or one that is reached by HTTP. */
export type ServerPlace =
  | {
      readonly kind: 'command';
      readonly command: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | { readonly kind: 'url'; readonly url: URL; readonly headers: Readonly<Record<string, string>> };

export interface McpCommandOptions {
  readonly parsedArgs: ParsedArgs;
  readonly server: ServerPlace;
  /** The name of the server. */
  readonly name: string;
  readonly agent: string | undefined;
  readonly session: string | undefined;
  readonly restarts: boolean;
  /** Where clients connect by HTTP; without it there is one client, on stdin and stdout. */
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly allowedHosts: readonly string[];
}

export async function parseMcpOptions(args: readonly string[], { env, cwd }: Terminal): Promise<McpCommandOptions> {
  const separator = args.indexOf('--');
  const command = separator === -1 ? undefined : args.slice(separator + 1);
  const { rest, headers } = takeHeaders(separator === -1 ? args : args.slice(0, separator), env);
  const parsedArgs = readArgs(rest, knownSwitches, separator === -1 ? args.length : 0, valueOptions);
  const { values, switches, positionals } = parsedArgs;
  if (positionals.length > 0) throw usageError(`${commandHint}, as in: mcp -- ${positionals.join(' ')}`);
  const url = values.get('--url');
  const config = values.get('--config');
  if ([command, url, config].filter((each) => each !== undefined).length > 1)
    throw usageError('mcp: give one server: a command after --, --url or --config');
  if (config === undefined && values.has('--server')) throw usageError('mcp: --server needs --config FILE');
  if (url === undefined && headers.size > 0) throw usageError('mcp: --header needs --url');
  const entry =
    config === undefined
      ? undefined
      : await (await import('./config-entry.ts')).readConfigEntry(resolve(cwd, config), values.get('--server'), {
          env,
          cwd,
        });
  const server = entry?.server ?? readPlace(command, url, headers);
  if (!values.has('--listen') && values.has('--allow-host')) throw usageError('mcp: --allow-host needs --listen');
  if (server.kind === 'url' && switches.has('--no-restart'))
    throw usageError('mcp: --no-restart needs a server that is started by a command');
  return {
    parsedArgs,
    server,
    name: values.get('--name') ?? entry?.name ?? nameServer(server),
    agent: values.get('--agent'),
    session: values.get('--session'),
    restarts: !switches.has('--no-restart'),
    listen: parseListen(values.get('--listen')),
    allowedHosts: (values.get('--allow-host') ?? '').split(',').filter((each) => each !== ''),
  };
}

function readPlace(
  command: readonly string[] | undefined,
  url: string | undefined,
  headers: ReadonlyMap<string, string>,
): ServerPlace {
  if (url !== undefined) return { kind: 'url', url: parseServerUrl(url), headers: Object.fromEntries(headers) };
  if (command === undefined) throw usageError(`${commandHint}, as in: mcp -- npx some-server; or give --url`);
  if (command.length === 0) throw usageError('mcp: no command after --');
  return { kind: 'command', command };
}

export function parseServerUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw usageError(`--url must be an http or https URL, got ${JSON.stringify(text)}`);
  // Credentials in a URL would be seen in lists of processes and in messages.
  if (url.username !== '' || url.password !== '')
    throw usageError('--url must have no user or password in it: give them with --header');
  url.hash = '';
  return url;
}

/** Takes each `--header 'NAME: VALUE'`; a variable of the environment in a value is `${NAME}`. */
function takeHeaders(args: readonly string[], env: Terminal['env']) {
  const rest: string[] = [];
  const headers = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === '--headers-from') {
      const variable = args[++at] ?? '';
      const lines = env[variable]?.split('\n').filter((line) => line !== '');
      if (lines === undefined) throw usageError(`--headers-from: the environment variable ${variable} is not set`);
      for (const line of lines) addHeader(headers, line, '--headers-from: each line of the variable');
      continue;
    }
    if (arg !== '--header' && !arg.startsWith('--header=')) {
      rest.push(arg);
      continue;
    }
    const text = arg === '--header' ? (args[++at] ?? '') : arg.slice('--header='.length);
    addHeader(headers, text, '--header', env);
  }
  return { rest, headers };
}

/** Adds a header of the form `NAME: VALUE`; variables in the value are replaced if an environment is given. */
function addHeader(headers: Map<string, string>, text: string, option: string, env?: Terminal['env']): void {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/s.exec(text) ?? [];
  // The text itself is not quoted: it may hold a secret.
  if (name === undefined || value === undefined) throw usageError(`${option} must be 'NAME: VALUE'`);
  headers.set(name.toLowerCase(), checkHeader(name, env === undefined ? value : expandVariables(value, env)));
}

export function checkHeader(name: string, value: string): string {
  if (/^(host|content-length|transfer-encoding|connection|mcp-session-id)$/i.test(name))
    throw usageError(`the header ${name} is not one to set`);
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw usageError(`the value of the header ${name} cannot be sent`);
  return value;
}

/** Replaces `${NAME}`, `${env:NAME}` and `${NAME:-default}` by the environment. */
export function expandVariables(text: string, env: Terminal['env']): string {
  return text.replaceAll(/\$\{(?:env:)?(\w+)(?::-([^}]*))?\}/g, (_all, name: string, other: string | undefined) => {
    const value = env[name] || other;
    if (value === undefined) throw usageError(`the environment variable ${name} is not set`);
    return value;
  });
}

const portMax = 65_535;

function parseListen(text: string | undefined): McpCommandOptions['listen'] {
  if (text === undefined) return undefined;
  const [, host = '127.0.0.1', portText] = /^(?:(127\.\d+\.\d+\.\d+|localhost|\[::1\]):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(portText);
  if (portText === undefined || port > portMax)
    throw usageError(
      `--listen must be a port of the loopback address, such as 127.0.0.1:7070, got ${JSON.stringify(text)}; ` +
        'for other machines put a reverse proxy with TLS before it, and name it with --allow-host',
    );
  return { host: host === '[::1]' ? '::1' : host, port };
}

function nameServer(server: ServerPlace): string {
  return server.kind === 'command' ? nameFromCommand(server.command) : nameFromUrl(server.url);
}

/** The name of a server from its URL: `https://mcp.docs.example/mcp` is `mcp_docs_example`. */
function nameFromUrl({ hostname }: URL): string {
  return hostname.replaceAll(/[^\w-]+/g, '_').replaceAll(/^_+|_+$/g, '') || 'server';
}

/** Programs that run another one, which their arguments name. */
const launchers = /^(npx|npm|pnpm|pnpx|yarn|bunx?|uvx?|pipx|deno|node|nodejs|python[\d.]*|docker|podman|sh|bash|env)$/;
const launcherWords = new Set(['run', 'exec', 'x', 'dlx', 'tool']);

/** The name of a server from its command: `npx -y @scope/weather@1.2 …` is `weather`. */
function nameFromCommand([program = '', ...args]: readonly string[]): string {
  const plain = basename(program).replace(/\.(exe|cmd)$/i, '');
  const named = launchers.test(plain)
    ? args.find((arg) => !arg.startsWith('-') && !launcherWords.has(arg) && !/^\w+=/.test(arg))
    : undefined;
  const last = basename((named ?? plain).replace(/(?<=.)@[\w.^~-]+$/, '')).replace(/\.(m?js|cjs|m?ts|py|sh)$/, '');
  return last || plain || 'server';
}
