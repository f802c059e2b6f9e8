/** The part of `switchgear doctor` that checks the proxies in the configuration of MCP clients. */

import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { isTable } from '../../core/plain-copy.ts';
import type { SettingsFolders } from '../../hooks/hosts/settings-paths.ts';
import { settingsPath } from '../../hooks/install/settings-files.ts';
import type { Terminal } from '../command.ts';
import { findBinPath } from '../install/stable-command.ts';
import { clientNames, findClientFile, listServers } from '../mcp/clients/client-files.ts';
import { type FoundProxy, findProxy, readCommand, type ServerEntry } from '../mcp/clients/server-entry.ts';
import { type ProxyTest, testProxy } from '../mcp/clients/test-proxy.ts';
import { describeReadError } from '../process-terminal.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import type { Finding } from './doctor.ts';
import { readSettings } from './doctor-settings.ts';

/** Every client whose servers can be read. */
const checkedClients = [...clientNames, 'codex'] as const;

type CheckedClient = (typeof checkedClients)[number];

interface ConfiguredServer {
  readonly client: CheckedClient;
  readonly file: string;
  readonly isProject: boolean;
  readonly name: string;
  readonly entry: ServerEntry;
}

export interface ProxyCheckOptions {
  /** The only client to check. */
  readonly client: string | undefined;
  /** Whether the proxy is tested even if no client uses it. */
  readonly isAsked: boolean;
  /** Whether the policy in force refuses anything. */
  readonly refuses: boolean;
}

/** Tests every configured proxy with a real call, and names the servers that run without it. */
export async function checkProxies(
  { client, isAsked, refuses }: ProxyCheckOptions,
  folders: SettingsFolders,
  terminal: Terminal,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const servers = checkedClients
    .filter((each) => client === undefined || each === client)
    .flatMap((each) => listConfigured(each, folders, findings));
  const tests = new Map<string, Promise<ProxyTest>>();
  const test = (proxy: FoundProxy, env: Terminal['env']) => {
    // Entries that differ only in the name of their server start the same proxy.
    const key = JSON.stringify([proxy.program, proxy.options.filter((_, at) => !isName(proxy.options, at)), env]);
    const known = tests.get(key) ?? testProxy(proxy, env, terminal);
    tests.set(key, known);
    return known;
  };
  for (const { client: each, name, entry } of servers) {
    const proxy = findProxy(readCommand(entry) ?? []);
    if (proxy === undefined) continue;
    const env = ownVariables(entry);
    const label = `${each}: the proxy of ${name}`;
    findings.push(
      (await checkStore(label, proxy, env, terminal)) ?? describeTest(label, await test(proxy, env), refuses),
    );
    findings.push(...noteMissingCommand(label, proxy, entry, terminal));
  }
  if (isAsked && tests.size === 0) {
    const own = { program: [process.execPath, findBinPath(), 'mcp'], options: [], isPlain: true, server: undefined };
    findings.push(describeTest('the proxy of this installation', await test(own, {}), refuses));
  }
  return [...findings, ...noteDirect(servers)];
}

/** Whether a word is `--name` or its value. */
function isName(options: readonly string[], at: number): boolean {
  return options[at] === '--name' || options[at - 1] === '--name';
}

function listConfigured(
  client: CheckedClient,
  folders: SettingsFolders,
  findings: Finding[],
): readonly ConfiguredServer[] {
  return [false, true].flatMap((isProject) => {
    const path = findFile(client, isProject, folders);
    if (path === undefined || !existsSync(path)) return [];
    // In the home folder the file of the project may be that of the user.
    if (isProject && path === findFile(client, false, folders)) return [];
    try {
      const entries = client === 'codex' ? readCodexServers(path) : listServers(client, readFileSync(path, 'utf8'));
      return entries.map(({ name, entry }) => ({ client, file: path, isProject, name, entry }));
    } catch (error) {
      findings.push({ ok: true, isNote: true, message: `${client}: ${path}: ${describeReadError(error)}` });
      return [];
    }
  });
}

function findFile(client: CheckedClient, isProject: boolean, folders: SettingsFolders): string | undefined {
  if (client !== 'codex') return findClientFile(client, isProject, folders);
  return join(dirname(settingsPath('codex', isProject, folders)), 'config.toml');
}

function readCodexServers(path: string): readonly { readonly name: string; readonly entry: ServerEntry }[] {
  const settings = readSettings(path);
  const servers = isTable(settings) && isTable(settings.mcp_servers) ? settings.mcp_servers : {};
  return Object.entries(servers).flatMap(([name, entry]) => (isTable(entry) ? [{ name, entry }] : []));
}

/** The variables of an entry that the proxy reads; the others are for its server. */
function ownVariables({ env }: ServerEntry): Terminal['env'] {
  const names = isTable(env) ? Object.entries(env) : [];
  return Object.fromEntries(names.filter(([name]) => name.startsWith('SWITCHGEAR_'))) as Terminal['env'];
}

/** Opens the store that an entry names, in place of which the test uses another one; undefined if the store answers. */
async function checkStore(
  label: string,
  { options }: FoundProxy,
  env: Terminal['env'],
  terminal: Terminal,
): Promise<Finding | undefined> {
  const at = options.findIndex((option) => /^--store(=|$)/.test(option));
  const option = options[at] === '--store' ? options[at + 1] : options[at]?.slice('--store='.length);
  const store = option ?? env.SWITCHGEAR_STORE;
  if (store === undefined || store === 'memory' || isExpanded(store)) return undefined;
  const args = { positionals: [], switches: new Set<string>(), values: new Map([['--store', store]]) };
  try {
    await withStore(findStoreAddress(args, terminal), async () => {}, { verify: false });
    return undefined;
  } catch (error) {
    return { ok: false, message: `${label} refuses every call: ${describeReadError(error)}` };
  }
}

/** Notes a command of a server that the environment of the entry does not find. */
function noteMissingCommand(
  label: string,
  { server: [program] = [] }: FoundProxy,
  { env, cwd }: ServerEntry,
  terminal: Terminal,
): readonly Finding[] {
  const { PATH = terminal.env.PATH } = (isTable(env) ? env : {}) as Terminal['env'];
  if (program === undefined || isExpanded(program)) return [];
  const folder = resolve(terminal.cwd, typeof cwd === 'string' ? cwd : '');
  const folders = /[\\/]/.test(program)
    ? [folder]
    : String(PATH ?? '')
        .split(delimiter)
        .filter(Boolean);
  const endings = process.platform === 'win32' ? ['', '.exe', '.cmd'] : [''];
  if (folders.some((each) => endings.some((ending) => existsSync(resolve(each, program + ending))))) return [];
  const message = `${label}: the command of its server is not found: ${JSON.stringify(program)}`;
  return [{ ok: true, isNote: true, message }];
}

/** Whether the client replaces a variable in a word before it starts the server. */
function isExpanded(word: string): boolean {
  return word.includes('${');
}

/** A message with a list of problems as one line. */
function joinLines(message: string): string {
  return message.replace(/:\n- /, ': ').replaceAll(/\n(- )?/g, '; ');
}

function describeTest(proxy: string, test: ProxyTest, refuses: boolean): Finding {
  const { reached, refusedAt, cannotJudge, problem } = test;
  if (cannotJudge?.includes('${'))
    return { ok: true, isNote: true, message: `${proxy} is not tested: its client replaces a variable in its options` };
  if (cannotJudge !== undefined)
    return { ok: false, message: `${proxy} refuses every call: ${joinLines(cannotJudge).slice(0, 600)}` };
  if (problem !== undefined) return { ok: false, message: `${proxy} does not answer: ${problem.slice(0, 300)}` };
  if (refusedAt === 1) return { ok: true, message: `${proxy} refuses a call by a rule of the policy` };
  if (refusedAt !== undefined)
    return { ok: true, message: `${proxy} refuses call ${refusedAt} of a tool after ${reached} failures` };
  if (!refuses) return { ok: true, message: `${proxy} answers, and refuses nothing, as the policy says` };
  return { ok: false, message: `${proxy} passed a call of a tool that had failed ${reached - 1} times` };
}

/** Names the servers of each file that run without the proxy. */
function noteDirect(servers: readonly ConfiguredServer[]): readonly Finding[] {
  const direct = servers.filter(({ entry }) => findProxy(readCommand(entry) ?? []) === undefined);
  return [...Map.groupBy(direct, ({ file }) => file)].map(([file, group]) => {
    const names = [...new Set(group.map(({ name }) => name))].join(', ');
    const { client, isProject } = group[0]!;
    const remedy = client === 'codex' ? '' : `; switchgear init ${client} --mcp${isProject ? ' --project' : ''}`;
    return { ok: true, isNote: true, message: `${client}: ${file}: without the proxy: ${names}${remedy}` };
  });
}
