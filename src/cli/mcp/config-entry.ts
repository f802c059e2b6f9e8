/** Reads a server from the configuration file of an MCP client, in the words of each client. */

import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, resolve, sep } from 'node:path';
import { policyFileBytesMax } from '../../core/limits.ts';
import { isTable } from '../../core/plain-copy.ts';
import { parseJsonTree } from '../../hooks/install/json-edit.ts';
import { type Terminal, usageError } from '../command.ts';
import { checkHeader, expandVariables, parseServerUrl, type ServerPlace } from './options.ts';

type Table = Readonly<Record<string, unknown>>;

/** A file with servers. */
interface ClientFile {
  readonly servers: Table;
  /** Whether values may name variables; the values of Codex do not. */
  readonly hasVariables: boolean;
  /** Whether `url` is an address of the old transport, as for Gemini CLI, where `httpUrl` is one of the new. */
  readonly isUrlOld: boolean;
}

/** Reads the server of this name; `cwd` is the folder in which the client works. */
export async function readConfigEntry(
  path: string,
  name: string | undefined,
  { env, cwd }: Pick<Terminal, 'env' | 'cwd'>,
): Promise<{ readonly name: string; readonly server: ServerPlace }> {
  const file = await readClientFile(path, cwd);
  const { servers } = file;
  const known =
    Object.keys(servers)
      .map((each) => JSON.stringify(each))
      .join(', ') || 'none';
  if (name === undefined) throw usageError(`mcp: --config needs --server NAME; ${basename(path)} has ${known}`);
  const entry = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (!isTable(entry)) throw usageError(`mcp: no server ${JSON.stringify(name)} in ${basename(path)}; it has ${known}`);
  const read = (text: string) => (file.hasVariables ? expandNames(text, { env, cwd }) : text);
  return { name, server: readServer(entry, { name: JSON.stringify(name), file, read, env, cwd }) };
}

async function readClientFile(path: string, cwd: string): Promise<ClientFile> {
  const isToml = path.endsWith('.toml');
  const root = await readDocument(path, isToml);
  const servers = isToml ? readTable(root.mcp_servers) : findServers(root, cwd);
  if (servers === undefined) throw usageError(`mcp: ${path} has no ${isToml ? 'mcp_servers' : 'mcpServers'}`);
  return { servers, hasVariables: !isToml, isUrlOld: basename(dirname(path)) === '.gemini' };
}

async function readDocument(path: string, isToml: boolean): Promise<Table> {
  try {
    const text = readFileSync(path, 'utf8');
    const value = isToml ? await parseTomlText(text) : parseJsonTree(text).value;
    return readTable(value) ?? {};
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isUnread = code?.startsWith('E');
    throw usageError(`mcp: ${path} ${isUnread ? `cannot be read: ${code}` : `is not ${isToml ? 'TOML' : 'JSON'}`}`);
  }
}

async function parseTomlText(text: string): Promise<unknown> {
  const { findBoundsProblem } = await import('../../document/text-bounds.ts');
  const { parseToml } = await import('../../document/parse-toml.ts');
  const isFit = text.length <= policyFileBytesMax * 4 && findBoundsProblem(text) === undefined;
  const document = isFit ? parseToml(text) : undefined;
  if (document?.ok !== true) throw new Error('no TOML');
  return document.value;
}

/**
 * The servers of a JSON file: `mcpServers`; `servers` of VS Code, which in its settings are in `mcp`; those that Claude
 * Code keeps for the folder stand over those of the user.
 */
function findServers(root: Table, cwd: string): Table | undefined {
  const own = readTable(readTable(readTable(root.projects)?.[cwd])?.mcpServers);
  const listed = readTable(root.mcpServers) ?? readTable(root.servers) ?? readTable(readTable(root.mcp)?.servers);
  return own === undefined ? listed : { ...listed, ...own };
}

/** How an entry is read. */
interface EntryContext extends Pick<Terminal, 'env' | 'cwd'> {
  /** The name of the server, quoted. */
  readonly name: string;
  readonly file: ClientFile;
  /** Replaces names in a text. */
  read(text: string): string;
}

function readServer(entry: Table, { name, file, read, env, cwd }: EntryContext): ServerPlace {
  const { command, args, url, httpUrl, type, envFile } = entry;
  if (typeof command === 'string') {
    if (envFile !== undefined) throw usageError(`mcp: the server ${name} has an envFile: write its variables into env`);
    const words = Array.isArray(args) ? args.map(String) : [];
    const folder = typeof entry.cwd === 'string' ? resolve(cwd, read(entry.cwd)) : undefined;
    return {
      kind: 'command',
      command: [command, ...words].map(read),
      env: readTexts(entry.env, read),
      ...(folder !== undefined && { cwd: folder }),
    };
  }
  const address = httpUrl ?? url;
  if (typeof address !== 'string') throw usageError(`mcp: the server ${name} has neither command nor url`);
  if (type === 'sse' || (file.isUrlOld && httpUrl === undefined && type !== 'http'))
    throw usageError(
      `mcp: the server ${name} has the old HTTP+SSE transport: put mcp-remote behind Switchgear: ` +
        `switchgear mcp -- npx mcp-remote URL --transport sse-only`,
    );
  const headers = Object.entries(readHeaders(entry, read, env));
  const checked = headers.map(([key, value]) => [key.toLowerCase(), checkHeader(key, value)]);
  return { kind: 'url', url: parseServerUrl(read(address)), headers: Object.fromEntries(checked) };
}

/** The headers of a server; Codex names variables that hold them. */
function readHeaders(entry: Table, read: (text: string) => string, env: Terminal['env']) {
  const { headers, http_headers, env_http_headers, bearer_token_env_var: token } = entry;
  return {
    ...readTexts(headers, read),
    ...readTexts(http_headers, read),
    ...readTexts(env_http_headers, (variable) => readVariable(variable, env)),
    ...(typeof token === 'string' && { Authorization: `Bearer ${readVariable(token, env)}` }),
  };
}

function readVariable(name: string, env: Terminal['env']): string {
  const value = env[name];
  if (!value) throw usageError(`the environment variable ${name} is not set`);
  return value;
}

/** Replaces the names of editors, such as `${workspaceFolder}`, and variables of the environment. */
function expandNames(text: string, { env, cwd }: Pick<Terminal, 'env' | 'cwd'>): string {
  const names: Readonly<Record<string, string>> = {
    workspaceFolder: cwd,
    workspaceFolderBasename: basename(cwd),
    userHome: env.HOME || homedir(),
    pathSeparator: sep,
    '/': sep,
  };
  const replaced = text.replaceAll(/\$\{([\w/]+)\}/g, (all, name: string) =>
    Object.hasOwn(names, name) ? names[name]! : all,
  );
  const asked = /\$\{(?:input|command|config):[^}]*\}/.exec(replaced);
  if (asked !== null) throw usageError(`mcp: only the editor knows ${asked[0]}: write the value, or a variable`);
  return expandVariables(replaced, env);
}

function readTexts(value: unknown, read: (text: string) => string): Readonly<Record<string, string>> {
  const entries = Object.entries(readTable(value) ?? {});
  return Object.fromEntries(entries.map(([name, text]) => [name, read(String(text))]));
}

function readTable(value: unknown): Table | undefined {
  return isTable(value) ? value : undefined;
}
