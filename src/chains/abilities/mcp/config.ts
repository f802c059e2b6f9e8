/** The `mcpServers` JSON that hosts share: which servers there are, and how each is reached. */

import { isAbsolute, join } from 'node:path';
import { SwitchgearError } from '../../../core/error.ts';
import { quoted } from '../../../core/quote.ts';
import type { Environment } from '../child-process.ts';

/** How a server is reached; texts may hold `${VAR}` until it is started. */
export type McpServerConfig =
  | {
      readonly kind: 'process';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | undefined;
    }
  | {
      readonly kind: 'http' | 'sse';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** Reads the servers of a configuration. Keys of other hosts are left to them; a disabled server is not there. */
export function readMcpConfig(config: unknown): ReadonlyMap<string, McpServerConfig> {
  const servers = tableIn(tableIn(config, 'the MCP configuration').mcpServers, 'mcpServers');
  const found = new Map<string, McpServerConfig>();
  for (const [name, value] of Object.entries(servers)) {
    const where = `mcpServers.${name}`;
    if (name === '') throw wrong('mcpServers: a server needs a name');
    const server = tableIn(value, where);
    if (server.disabled !== true) found.set(name, serverIn(server, where));
  }
  return found;
}

function serverIn(server: Readonly<Record<string, unknown>>, where: string): McpServerConfig {
  const { command, url, type } = server;
  if ((command === undefined) === (url === undefined)) throw wrong(`${where} needs either command or url`);
  if (url !== undefined) {
    if (type !== undefined && type !== 'http' && type !== 'streamable-http' && type !== 'sse')
      throw wrong(`${where}.type must be "http" or "sse" where there is a url, got ${quoted(type)}`);
    const headers = textsIn(server.headers, `${where}.headers`);
    return { kind: type === 'sse' ? 'sse' : 'http', url: textIn(url, `${where}.url`), headers };
  }
  const { args = [], cwd } = server;
  if (!Array.isArray(args)) throw wrong(`${where}.args must be a list, got ${quoted(args)}`);
  return {
    kind: 'process',
    command: textIn(command, `${where}.command`),
    args: args.map((one, at) => textIn(one, `${where}.args[${at}]`)),
    env: textsIn(server.env, `${where}.env`),
    cwd: cwd === undefined ? undefined : textIn(cwd, `${where}.cwd`),
  };
}

/** The server as it is to be started here: variables filled, its folder found. */
export function startable(config: McpServerConfig, cwd: string, env: Environment): McpServerConfig {
  const fill = (text: string) => filled(text, env);
  const fillAll = (table: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(table).map(([name, text]) => [name, fill(text)]));
  if (config.kind !== 'process') return { ...config, url: fill(config.url), headers: fillAll(config.headers) };
  const folder = fill(config.cwd ?? '.');
  return {
    kind: 'process',
    command: fill(config.command),
    args: config.args.map(fill),
    env: fillAll(config.env),
    cwd: isAbsolute(folder) ? folder : join(cwd, folder),
  };
}

/** Fills `${VAR}`, `${env:VAR}` and `${VAR:-instead}` as hosts do; a variable that is not there is an error. */
function filled(text: string, env: Environment): string {
  return text.replaceAll(/\$\{(?:env:)?(\w+)(?::-([^}]*))?\}/g, (_, name: string, instead: string | undefined) => {
    const value = env[name] || instead;
    if (value === undefined)
      throw wrong(`\${${name}} is not in the environment: set it, or write \${${name}:-something}`);
    return value;
  });
}

function tableIn(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw wrong(`${where} must be a table, got ${quoted(value)}`);
}

function textsIn(value: unknown, where: string): Readonly<Record<string, string>> {
  const entries = value === undefined ? [] : Object.entries(tableIn(value, where));
  return Object.fromEntries(entries.map(([name, text]) => [name, textIn(text, `${where}.${name}`)]));
}

function textIn(value: unknown, where: string): string {
  if (typeof value === 'string' && !value.includes('\0')) return value;
  throw wrong(`${where} must be a text, got ${quoted(value)}`);
}

function wrong(message: string): SwitchgearError {
  return new SwitchgearError('invalid_mcp_config', message);
}
