/** `switchgear init CLIENT --mcp`: makes the servers of an MCP client run behind the proxy, and back with `--undo`. */

import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { SwitchgearError } from '../../../core/error.ts';
import type { SettingsFolders } from '../../../hooks/hosts/settings-paths.ts';
import { stateFolder } from '../../../platform/state-folder.ts';
import { exitCodes, type ParsedArgs, type Terminal, usageError } from '../../command.ts';
import {
  readBackup,
  reportSystemErrors,
  saveBackup,
  withPathInErrors,
  writeSettings,
} from '../../install/settings-backup.ts';
import { findBinPath, stableCommandPath, writeStableCommand } from '../../install/stable-command.ts';
import { findStoreAddress } from '../../store-option.ts';
import { type ClientName, findClientFile } from './client-files.ts';
import { addProxy, type RewrittenServers, removeProxy } from './rewrite-servers.ts';
import { maskMembers, type ProxyProgram } from './server-entry.ts';

const advice: Readonly<Record<ClientName, string>> = {
  'claude-code': 'Sessions of Claude Code that begin from now on use it',
  'claude-desktop': 'Quit Claude Desktop and open it again',
  cursor: 'Restart the servers in the settings of Cursor, or Cursor itself',
  vscode: 'Restart the servers in VS Code (MCP: List Servers)',
  gemini: 'Sessions of Gemini CLI that begin from now on use it',
};

/** Changes the configuration of a client; returns the exit code. */
export function changeServers(
  client: ClientName,
  parsedArgs: ParsedArgs,
  folders: SettingsFolders,
  terminal: Terminal,
): Promise<number> {
  const file = findConfigFile(client, parsedArgs, folders, terminal);
  return reportSystemErrors(file, () => changeFile(client, file, parsedArgs, terminal));
}

function findConfigFile(
  client: ClientName,
  { values, switches }: ParsedArgs,
  folders: SettingsFolders,
  { cwd }: Terminal,
): string {
  const given = values.get('--file');
  if (given !== undefined) return resolve(cwd, given);
  const found = findClientFile(client, switches.has('--project'), folders);
  if (found === undefined) throw usageError(`init: ${client} has no configuration of a project`);
  return found;
}

async function changeFile(
  client: ClientName,
  file: string,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
): Promise<number> {
  const { switches } = parsedArgs;
  const isUndo = switches.has('--undo');
  if (!existsSync(file)) {
    if (!isUndo) throw new SwitchgearError('not_written', `init changed nothing: there is no file ${file}`);
    terminal.out(`${file}: nothing to change`);
    return exitCodes.ok;
  }
  // Keep a symbolic link and change its target.
  const path = realpathSync(file);
  const bytes = readFileSync(path);
  const before = bytes.toString('utf8');
  if (!bytes.equals(Buffer.from(before)))
    throw new SwitchgearError('not_written', `init changed nothing: ${path} is not valid UTF-8`);
  const backup = readBackup(path, terminal, 'mcp');
  const rewritten = withPathInErrors(path, () => {
    if (!isUndo)
      return addProxy(client, before, { ...makeProgram(parsedArgs, terminal), isUrlOld: client === 'gemini' });
    const removed = removeProxy(client, before, backup?.before ?? undefined);
    return backup?.after === before && backup.before !== null ? { ...removed, text: backup.before } : removed;
  });
  printServers(path, rewritten, terminal);
  if (rewritten.text === before || switches.has('--dry-run')) return exitCodes.ok;
  if (!isUndo && !(await isConfirmed(parsedArgs, terminal))) {
    terminal.out('Nothing was written.');
    return exitCodes.error;
  }
  if (isUndo) saveBackup(path, undefined, terminal, 'mcp');
  else {
    // The command comes first: a configuration must not name a file that could not be written.
    if (usesStableCommand(parsedArgs)) {
      const { kind } = findStoreAddress(parsedArgs, terminal);
      writeStableCommand(stateFolder(terminal.env), findBinPath(), kind === 'redis' ? ['redis'] : []);
    }
    // If the file was changed since the last time, its entries of then are taken back in the backup.
    const original = backup === undefined ? before : removeProxy(client, before, backup.before ?? undefined).text;
    saveBackup(path, { before: backup?.after === before ? before : original, after: rewritten.text }, terminal, 'mcp');
  }
  writeSettings(path, rewritten.text);
  if (isUndo) return exitCodes.ok;
  terminal.out(`${advice[client]}. To see that the proxy refuses: switchgear doctor --mcp`);
  return exitCodes.ok;
}

function usesStableCommand({ switches }: ParsedArgs): boolean {
  return !switches.has('--project') && process.platform !== 'win32';
}

/** The command of the proxy. A configuration that a team shares must not contain a path of this machine. */
function makeProgram(parsedArgs: ParsedArgs, { env, cwd }: Terminal): ProxyProgram {
  const { values, switches } = parsedArgs;
  const options = ['--store', '--policy'].flatMap((name) => {
    const value = values.get(name);
    return value === undefined ? [] : [name, name === '--policy' ? resolve(cwd, value) : value];
  });
  if (usesStableCommand(parsedArgs)) return { words: [stableCommandPath(stateFolder(env))], options };
  // Clients with windows run no scripts of a shell on Windows.
  return { words: switches.has('--project') ? ['switchgear'] : [process.execPath, findBinPath()], options };
}

/** Prints every change of an entry, and the entries that stay. */
function printServers(path: string, { changed, left, proxied }: RewrittenServers, { out }: Terminal): void {
  if (changed.length === 0) {
    const servers = left.length === 0 && proxied === 0 ? 'nothing to change' : describeUnchanged(proxied, left.length);
    out(`${path}: ${servers}`);
  } else out(path);
  for (const { name, before, after } of changed) {
    out(`  ${name}`);
    out(`- ${formatMembers(before)}`);
    out(`+ ${formatMembers(after)}`);
  }
  for (const { name, reason } of left) out(`  ${name} stays as it is: ${reason}`);
}

function describeUnchanged(proxied: number, left: number): string {
  if (proxied === 0) return 'nothing can be changed';
  const behind = `${proxied} ${proxied === 1 ? 'server runs' : 'servers run'} behind the proxy`;
  return `nothing to change: ${behind}${left === 0 ? '' : `, ${left} cannot`}`;
}

function formatMembers(members: Readonly<Record<string, unknown>>): string {
  const masked = Object.entries(maskMembers(members)).filter(([, value]) => value !== undefined);
  return masked.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(', ');
}

/** Asks a person at a terminal. A script is not asked. */
async function isConfirmed({ switches }: ParsedArgs, { input }: Terminal): Promise<boolean> {
  if (switches.has('--yes') || input?.isTTY !== true) return true;
  const lines = createInterface({ input, output: process.stderr });
  try {
    const answer = await new Promise<string>((done) => {
      lines.once('close', () => done(''));
      lines.question('Write this change? [y/N] ', done);
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
