/** The `mcpServers` JSON that many MCP hosts read: the servers, and how to reach each server. */

import { isAbsolute, join } from 'node:path';
import { SwitchgearError } from '../../../core/error.ts';
import { quoteValue } from '../../../core/quote.ts';
import type { Environment } from '../child-process.ts';
import { identifyCommand } from '../program-identity.ts';

/** The working folder and environment in which servers start. */
export interface McpEnvironment {
  readonly cwd: string;
  readonly env: Environment;
  /** Receives the lines that servers write to stderr. */
  readonly onStderr?: ((server: string, line: string) => void) | undefined;
}

/** How to reach a server; texts may contain `${VAR}` until the server starts. */
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

/** Reads the servers of a configuration. Ignores keys of other hosts and disabled servers. */
export function readMcpConfig(config: unknown): ReadonlyMap<string, McpServerConfig> {
  const servers = requireTable(requireTable(config, 'the MCP configuration').mcpServers, 'mcpServers');
  const configs = new Map<string, McpServerConfig>();
  for (const [name, value] of Object.entries(servers)) {
    const where = `mcpServers.${name}`;
    if (name === '') throw configError('mcpServers: a server needs a name');
    const server = requireTable(value, where);
    if (server.disabled !== true) configs.set(name, readServer(server, where));
  }
  return configs;
}

function readServer(server: Readonly<Record<string, unknown>>, where: string): McpServerConfig {
  const { command, url, type } = server;
  if ((command === undefined) === (url === undefined)) throw configError(`${where} needs either command or url`);
  if (url !== undefined) {
    if (type !== undefined && type !== 'http' && type !== 'streamable-http' && type !== 'sse')
      throw configError(`${where}.type must be "http" or "sse" for a server with a url, got ${quoteValue(type)}`);
    const headers = requireTexts(server.headers, `${where}.headers`);
    return { kind: type === 'sse' ? 'sse' : 'http', url: requireText(url, `${where}.url`), headers };
  }
  const { args = [], cwd } = server;
  if (!Array.isArray(args)) throw configError(`${where}.args must be a list, got ${quoteValue(args)}`);
  return {
    kind: 'process',
    command: requireText(command, `${where}.command`),
    args: args.map((item, at) => requireText(item, `${where}.args[${at}]`)),
    env: requireTexts(server.env, `${where}.env`),
    cwd: cwd === undefined ? undefined : requireText(cwd, `${where}.cwd`),
  };
}

/** The configuration with filled variables and an absolute working folder. */
export function resolveConfig(config: McpServerConfig, cwd: string, env: Environment): McpServerConfig {
  const fill = (text: string) => fillVariables(text, env);
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

/**
 * The server as an approval is bound to it: where it is reached, or which program it is. Variables of its environment
 * and headers count as written, because their values may be secrets that change.
 */
export function identifyServer(name: string, config: McpServerConfig, cwd: string, env: Environment): unknown {
  const resolved = resolveConfig(config, cwd, env);
  if (resolved.kind !== 'process' || config.kind !== 'process')
    return { server: name, ...resolved, ...headersOf(config) };
  const { command, args } = resolved;
  const started = identifyCommand(command, args, resolved.cwd ?? cwd, { PATH: resolved.env.PATH ?? env.PATH });
  return { server: name, command, args, env: config.env, ...started };
}

function headersOf(config: McpServerConfig): object {
  return 'headers' in config ? { headers: config.headers } : {};
}

/** Fills `${VAR}`, `${env:VAR}` and `${VAR:-default}` as other hosts do; throws on an unset variable. */
function fillVariables(text: string, env: Environment): string {
  return text.replaceAll(/\$\{(?:env:)?(\w+)(?::-([^}]*))?\}/g, (_, name: string, fallback: string | undefined) => {
    const value = env[name] || fallback;
    if (value === undefined)
      throw configError(`\${${name}} is not set in the environment: set it, or write \${${name}:-something}`);
    return value;
  });
}

function requireTable(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw configError(`${where} must be a table, got ${quoteValue(value)}`);
}

function requireTexts(value: unknown, where: string): Readonly<Record<string, string>> {
  const entries = value === undefined ? [] : Object.entries(requireTable(value, where));
  return Object.fromEntries(entries.map(([name, text]) => [name, requireText(text, `${where}.${name}`)]));
}

function requireText(value: unknown, where: string): string {
  if (typeof value === 'string' && !value.includes('\0')) return value;
  throw configError(`${where} must be a text, got ${quoteValue(value)}`);
}

function configError(message: string): SwitchgearError {
  return new SwitchgearError('invalid_mcp_config', message);
}
