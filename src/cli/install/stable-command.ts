/**
 * The command that installed hooks run. It lies in the state folder of the user, so that hooks survive a deleted
 * project, a cleared package cache and another version of Node: it runs the installation that installed the hooks, or
 * else a copy of that installation.
 */

import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HostName } from '../../hooks/hosts/hook-event.ts';
import { quoteWord } from '../../platform/shell-programs.ts';

/** The program file of this installation. */
export function findBinPath(): string {
  return fileURLToPath(new URL('../../../bin/switchgear.cjs', import.meta.url));
}

/** The file that hooks run. Its folders are those of a package, by which the command is recognized as Switchgear's. */
export function stableCommandPath(stateFolder: string): string {
  return join(commandFolder(stateFolder), 'bin', 'switchgear');
}

function commandFolder(stateFolder: string): string {
  return join(stateFolder, 'command');
}

/** The beginning of a hook's shell line: runs the file, or reports that it is gone and lets the agent continue. */
export function formatHookProgram(file: string, host: HostName): string {
  return `s=${quoteForShell(file)}; [ -f "$s" ] || { ${formatGoneReport(host)}; exit 0; }; exec sh "$s"`;
}

/** The same for settings that a team shares: the command on the PATH, or else that of the project's packages. */
export function formatSharedHookProgram(host: HostName): string {
  const folder = { 'claude-code': '${CLAUDE_PROJECT_DIR:-.}', codex: '.', gemini: '${GEMINI_PROJECT_DIR:-.}' }[host];
  const find = `s=$(command -v switchgear) || s="${folder}/node_modules/.bin/switchgear"`;
  const report = formatReport(
    `Switchgear is not installed here: calls are not checked. Install: npm install --save-dev switchgear. ` +
      `Remove its hooks: npx switchgear init ${host} --project --undo`,
  );
  return `${find}; [ -x "$s" ] || { ${report}; exit 0; }; exec "$s"`;
}

/** Prints the report in the form that every host shows to the person, who alone can mend it. */
function formatGoneReport(host: HostName): string {
  const init = `npx switchgear init ${host}`;
  return formatReport(`Switchgear is gone: calls are not checked. Install: ${init}. Remove its hooks: ${init} --undo`);
}

function formatReport(systemMessage: string): string {
  return `echo '${JSON.stringify({ systemMessage })}'`;
}

/**
 * Writes the command of the hooks, with a copy of this installation and of the named packages beside it. A checkout is
 * not copied: it is not built.
 */
export function writeStableCommand(stateFolder: string, binPath: string, peers: readonly string[] = []): void {
  const folder = commandFolder(stateFolder);
  const packageFolder = dirname(dirname(binPath));
  mkdirSync(join(folder, 'bin'), { recursive: true, mode: 0o700 });
  const isBuilt = !existsSync(join(packageFolder, 'src', 'cli', 'main.ts'));
  const copy = isBuilt ? copyPackage(packageFolder, folder, peers) : undefined;
  const binPaths = [binPath, ...(copy === undefined ? [] : [join(folder, copy, 'bin', 'switchgear.cjs')])];
  replaceFile(join(folder, 'package.json'), readFileSync(join(packageFolder, 'package.json'), 'utf8'), 0o600);
  replaceFile(stableCommandPath(stateFolder), formatScript(process.execPath, binPaths), 0o700);
  for (const name of readdirSync(folder)) {
    const isOldCopy = name.startsWith('copy-') && name !== copy;
    if (isOldCopy) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** Deletes the command of the hooks. */
export function deleteStableCommand(stateFolder: string): void {
  rmSync(commandFolder(stateFolder), { recursive: true, force: true });
}

function formatScript(node: string, binPaths: readonly string[]): string {
  return `#!/bin/sh
# Runs Switchgear for the hooks of agents: the installation that wrote this file, or else its copy.
# Written by switchgear init; switchgear init HOST --undo removes it.
node=${quoteForShell(node)}
[ -x "$node" ] || node=$(command -v node)
for file in ${binPaths.map(quoteForShell).join(' ')}; do
  [ -n "$node" ] && [ -f "$file" ] && exec "$node" "$file" "$@"
done
[ "$1" = hook ] || { echo 'switchgear: Node or the installation is gone from this machine' >&2; exit 127; }
case $2 in
${(['claude-code', 'codex', 'gemini'] as const).map((host) => `  ${host}) ${formatGoneReport(host)};;`).join('\n')}
esac
`;
}

/** Copies a package with what it needs, and returns the name of the copy. */
function copyPackage(packageFolder: string, folder: string, peers: readonly string[]): string {
  const digest = createHash('sha256').update(peers.join());
  for (const name of ['package.json', 'bin/switchgear.cjs', 'dist/cli/hook.cjs'])
    digest.update(readFileSync(join(packageFolder, name)));
  const copy = `copy-${digest.digest('hex').slice(0, 16)}`;
  if (existsSync(join(folder, copy))) return copy;
  const target = mkdtempSync(join(folder, 'new-'));
  try {
    const { files = [], dependencies = {} } = readManifest(packageFolder);
    for (const name of ['package.json', ...files]) copyProgram(join(packageFolder, name), join(target, name));
    const done = new Set<string>();
    for (const name of [...Object.keys(dependencies), ...peers]) copyDependency(name, packageFolder, target, done);
    renameSync(target, join(folder, copy));
  } catch (error) {
    rmSync(target, { recursive: true, force: true });
    throw error;
  }
  return copy;
}

interface Manifest {
  readonly name?: string;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

function copyDependency(name: string, from: string, target: string, done: Set<string>): void {
  if (done.has(name)) return;
  done.add(name);
  const folder = findDependency(name, from);
  if (folder === undefined) return; // The command reports it if it ever needs it.
  copyProgram(folder, join(target, 'node_modules', name));
  for (const each of Object.keys(readManifest(folder).dependencies ?? {})) copyDependency(each, folder, target, done);
}

/** Copies the files that run: no types, source maps, pages or packages of their own. */
function copyProgram(from: string, to: string): void {
  const filter = (path: string) => !/\.([cm]?ts|map|md)$|[\\/]node_modules([\\/]|$)/.test(path.slice(from.length));
  if (existsSync(from)) cpSync(from, to, { recursive: true, dereference: true, filter });
}

/** The folder of a package as another package finds it; undefined if it is not installed. */
function findDependency(name: string, from: string): string | undefined {
  const paths = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  return paths.map((path) => join(path, name)).find((folder) => existsSync(join(folder, 'package.json')));
}

function replaceFile(path: string, text: string, mode: number): void {
  const temporaryPath = `${path}.${process.pid}.new`;
  writeFileSync(temporaryPath, text, { mode });
  chmodSync(temporaryPath, mode);
  renameSync(temporaryPath, path);
}

/** Quotes a word for a shell, unless it is plain. */
export function quoteForShell(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : quoteWord(word);
}
