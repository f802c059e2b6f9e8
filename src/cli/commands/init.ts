/**
 * The command `switchgear init HOST`: adds hooks to the settings of an agent CLI, or puts the proxy in front of the
 * servers of an MCP client, and takes both back with `--undo`.
 */

import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { SwitchgearError } from '../../core/error.ts';
import { hookTimeoutMs } from '../../core/limits.ts';
import type { HostName } from '../../hooks/hosts/hook-event.ts';
import { findHost, hosts } from '../../hooks/hosts/index.ts';
import type { SettingsFolders } from '../../hooks/hosts/settings-paths.ts';
import {
  findHooks,
  type HandlerOptions,
  insertHookHandlers,
  removeHookHandlers,
  settingsPath,
} from '../../hooks/install/settings-files.ts';
import { stateFolder } from '../../platform/state-folder.ts';
import {
  type Command,
  exitCodes,
  type ParsedArgs,
  readArgs,
  type Terminal,
  usageError,
  verbError,
} from '../command.ts';
import { gatewayClients } from '../gateway/clients/gateway-clients.ts';
import {
  listChangedFiles,
  printDiff,
  readBackup,
  reportSystemErrors,
  saveBackup,
  withPathInErrors,
  writeSettings,
} from '../install/settings-backup.ts';
import {
  deleteStableCommand,
  findBinPath,
  formatHookProgram,
  formatSharedHookProgram,
  quoteForShell,
  stableCommandPath,
  writeStableCommand,
} from '../install/stable-command.ts';
import { type ClientName, clientNames } from '../mcp/clients/client-files.ts';
import { describePolicy } from '../policy/describe-policy.ts';
import { placeOfCommand } from '../policy/load-policy.ts';
import { loadPolicyInForce } from '../policy/policy-in-force.ts';
import { findStoreAddress } from '../store-option.ts';

/** A limitation of Codex that `init` and `doctor` print. */
export const codexHaltNote =
  'Codex does not end a run that a hook halts before a call: each further call is refused until it gives up.';

export const command: Command = {
  usage: [
    'init claude-code|codex|gemini    install hooks that check every call of an agent CLI; --undo removes them',
    'init CLIENT --mcp                put the proxy in front of the MCP servers of a client; --undo takes it back',
    'init CLIENT --gateway            set the base URL of an agent CLI to the gateway; --undo takes it back',
  ],
  details: [
    '',
    '  --user          in your own settings (the default)',
    "  --project       in this folder's settings, for everybody who works in it",
    '  --undo          remove what Switchgear added and keep all other settings',
    '  --dry-run       only print the changes',
    '  --http URL      Claude Code: ask a running server instead of a command; while it is down every call is blocked',
    '  --store STORE   --policy FILE   the store and policy of the hooks or the proxies',
    '',
    `With --mcp, CLIENT is one of ${clientNames.join(', ')}; at a terminal the change is asked for.`,
    '  --yes           do not ask',
    '  --file FILE     another configuration file of the client',
    '',
    `With --gateway, CLIENT is one of ${gatewayClients.join(', ')}.`,
    '  --url URL       the address of the gateway; http://127.0.0.1:4777 by default',
  ],
  async run(args, terminal) {
    const knownSwitches = ['--user', '--project', '--undo', '--dry-run', '--mcp', '--gateway', '--yes'];
    const parsedArgs = readArgs(args, knownSwitches, 1, ['--http', '--store', '--policy', '--file', '--url']);
    const [name] = parsedArgs.positionals;
    if (parsedArgs.switches.has('--user') && parsedArgs.switches.has('--project'))
      throw usageError('init: expected --user or --project, got both');
    if (parsedArgs.switches.has('--gateway')) return leadClient(name, parsedArgs, terminal);
    if (parsedArgs.values.has('--url')) throw usageError('init: --url is for --gateway');
    if (parsedArgs.switches.has('--mcp')) return changeClient(name, parsedArgs, terminal);
    const host = findHost(name)?.name;
    if (host === undefined && isClient(name)) throw usageError(`init: ${name} knows no hooks; expected --mcp`);
    if (host === undefined) throw verbError('init', Object.keys(hosts), name);
    if (parsedArgs.values.has('--file')) throw usageError('init: --file is for --mcp');
    const path = settingsPath(host, parsedArgs.switches.has('--project'), findHomes(terminal));
    return reportSystemErrors(path, () => changeHooks(host, path, parsedArgs, terminal));
  },
};

function isClient(name: string | undefined): name is ClientName {
  return clientNames.some((each) => each === name);
}

/** Leads an agent CLI to the gateway. */
async function leadClient(name: string | undefined, parsedArgs: ParsedArgs, terminal: Terminal): Promise<number> {
  const client = gatewayClients.find((each) => each === name);
  if (client === undefined) throw verbError('init --gateway', gatewayClients, name);
  for (const option of ['--http', '--file', '--store', '--policy'])
    if (parsedArgs.values.has(option)) throw usageError(`init: ${option} is not for --gateway`);
  if (parsedArgs.switches.has('--mcp')) throw usageError('init: expected --mcp or --gateway, got both');
  const { changeBaseUrl } = await import('../gateway/clients/init.ts');
  return changeBaseUrl(client, parsedArgs, findHomes(terminal), terminal);
}

/** Changes the servers of an MCP client. */
async function changeClient(name: string | undefined, parsedArgs: ParsedArgs, terminal: Terminal): Promise<number> {
  if (name === 'codex')
    throw usageError('init: codex keeps its servers in config.toml; write switchgear mcp there by hand');
  if (!isClient(name)) throw verbError('init --mcp', clientNames, name);
  if (parsedArgs.values.has('--http')) throw usageError('init: --http is for hooks');
  const isUndo = parsedArgs.switches.has('--undo');
  if (parsedArgs.switches.has('--project') && !isUndo) warnWithoutProgram(terminal);
  const { changeServers } = await import('../mcp/clients/init.ts');
  const code = await changeServers(name, parsedArgs, findHomes(terminal), terminal);
  if (isUndo && !parsedArgs.switches.has('--dry-run')) deleteUnusedCommand(terminal);
  return code;
}

async function changeHooks(
  host: HostName,
  settingsFile: string,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
): Promise<number> {
  const isUndo = parsedArgs.switches.has('--undo');
  const isProject = parsedArgs.switches.has('--project');
  // Keep a symbolic link and change its target.
  const path = existsSync(settingsFile) ? realpathSync(settingsFile) : settingsFile;
  const before = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  const after = withPathInErrors(path, () =>
    isUndo ? removeHooks(path, before, host, terminal) : addHooks(before, host, parsedArgs, terminal),
  );
  const isDryRun = parsedArgs.switches.has('--dry-run');
  const usesStableCommand = !isUndo && !isProject && !parsedArgs.values.has('--http');
  // The command comes first: settings must not name a file that could not be written.
  if (usesStableCommand && !isDryRun) {
    const { kind } = findStoreAddress(parsedArgs, terminal);
    writeStableCommand(stateFolder(terminal.env), findBinPath(), kind === 'redis' ? ['redis'] : []);
  }
  if (after !== before && !isDryRun) {
    saveBackup(path, isUndo ? undefined : { before: before ?? null, after: after ?? '' }, terminal);
    writeSettings(path, after);
  }
  if (isUndo && !isDryRun) deleteUnusedCommand(terminal);
  // A change is printed once it is made.
  if (after === before) terminal.out(`${path}: nothing to change`);
  else printDiff(path, before ?? '', after ?? '', terminal);
  if (after === before || isDryRun || isUndo) return exitCodes.ok;
  if (usesStableCommand)
    terminal.out(
      `The hooks run ${stableCommandPath(stateFolder(terminal.env))}, also when this installation is deleted.`,
    );
  terminal.out(await describePolicyHere(parsedArgs, terminal));
  for (const line of adviceFor(host, parsedArgs)) terminal.out(line);
  return exitCodes.ok;
}

/** Deletes the command of hooks and proxies if no host has hooks and no client a proxy any more. */
function deleteUnusedCommand(terminal: Terminal): void {
  const hasHooks = ({ name }: { readonly name: HostName }) => {
    const path = settingsPath(name, false, findHomes(terminal));
    try {
      return existsSync(path) && findHooks(readFileSync(path, 'utf8'), name).size > 0;
    } catch {
      return true; // The settings of another host cannot be read.
    }
  };
  const folder = stateFolder(terminal.env);
  const isUsed = (file: string) => {
    try {
      return readFileSync(file, 'utf8').includes(JSON.stringify(stableCommandPath(folder)).slice(1, -1));
    } catch {
      return false; // The file is gone.
    }
  };
  if (!Object.values(hosts).some(hasHooks) && !listChangedFiles(terminal).some(isUsed)) deleteStableCommand(folder);
}

/** Says which policy the hooks take in this folder. */
async function describePolicyHere(parsedArgs: ParsedArgs, terminal: Terminal): Promise<string> {
  try {
    const place = placeOfCommand(terminal, parsedArgs);
    return describePolicy(await loadPolicyInForce(parsedArgs.values.get('--policy'), terminal, place));
  } catch (error) {
    if (!(error instanceof SwitchgearError)) throw error;
    return `policy: ${error.message}: every call is refused until it can be read`;
  }
}

/** The advice to print after `init`, such as the need for a running server with `--http`. */
function adviceFor(host: HostName, { values }: ParsedArgs): readonly string[] {
  const url = values.get('--http');
  if (url === undefined) return advice[host];
  const where = `${url.replace(/\/$/, '')}/hooks/${host}`;
  return [
    `Every call is blocked unless a server of yours answers at ${where} as switchgear hook does: none comes with it.`,
  ];
}

const advice: Readonly<Record<HostName, readonly string[]>> = {
  'claude-code': ['Sessions that begin from now on ask first. To see that a refusal really blocks: switchgear doctor'],
  codex: [
    'Codex runs a hook only once you have trusted it: start codex, enter /hooks, and trust those of switchgear.',
    'Codex lets a call run when a hook breaks; nothing here can change that.',
    codexHaltNote,
    'To see whether all is well: switchgear doctor',
  ],
  gemini: [
    'Gemini CLI lets a call run when a hook breaks; nothing here can change that.',
    'To see whether all is well: switchgear doctor',
  ],
};

export function findHomes({ env, cwd }: Terminal): SettingsFolders {
  return { home: env.HOME || homedir(), project: cwd, env };
}

function addHooks(before: string | undefined, host: HostName, parsedArgs: ParsedArgs, terminal: Terminal): string {
  return insertHookHandlers(before ?? '', host, makeHookPlan(host, parsedArgs, terminal));
}

/** Restores the settings from before `init` if they were not changed since; otherwise removes only the hooks. */
function removeHooks(
  path: string,
  current: string | undefined,
  host: HostName,
  terminal: Terminal,
): string | undefined {
  if (current === undefined) return undefined;
  const backup = readBackup(path, terminal);
  if (backup?.after === current) return backup.before ?? undefined;
  const remaining = removeHookHandlers(current, host);
  return remaining === current || remaining.trim() !== '{}' || backup?.before !== null ? remaining : undefined;
}

function makeHookPlan(host: HostName, { values, switches }: ParsedArgs, terminal: Terminal): HandlerOptions {
  const timeoutSecs = hookTimeoutMs / 1000;
  const url = values.get('--http');
  if (url !== undefined) {
    if (host !== 'claude-code') throw usageError(`init: ${host} knows no hooks over HTTP`);
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw usageError(`--http must be an address, got ${url}`);
    return { run: { url: `${url.replace(/\/$/, '')}/hooks/${host}` }, timeoutSecs };
  }
  if (switches.has('--project')) warnWithoutProgram(terminal);
  const program = switches.has('--project')
    ? formatSharedHookProgram(host)
    : formatHookProgram(stableCommandPath(stateFolder(terminal.env)), host);
  const more = ['--store', '--policy'].flatMap((name) => {
    const value = values.get(name);
    return value === undefined
      ? []
      : [` ${name} ${quoteForShell(name === '--policy' ? resolve(terminal.cwd, value) : value)}`];
  });
  return { run: { command: program, more: more.join('') }, timeoutSecs };
}

/** Warns if nothing here runs the line of shared settings, which must not contain a path of this machine. */
function warnWithoutProgram({ env, cwd, err }: Terminal): void {
  const folders = [...(env.PATH ?? '').split(delimiter), join(cwd, 'node_modules', '.bin')];
  if (folders.some((folder) => existsSync(join(folder, 'switchgear')))) return;
  err('warning: switchgear is neither on your PATH nor in node_modules: calls in this folder are not checked');
}
