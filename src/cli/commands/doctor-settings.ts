/** The settings files that a host reads, and the switches in them that keep its hooks from running. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { policyFileBytesMax } from '../../core/limits.ts';
import { isTable } from '../../core/plain-copy.ts';
import { parseToml } from '../../document/parse-toml.ts';
import { findBoundsProblem } from '../../document/text-bounds.ts';
import type { HostName } from '../../hooks/hosts/hook-event.ts';
import type { SettingsFolders } from '../../hooks/hosts/settings-paths.ts';
import { parseJsonTree } from '../../hooks/install/json-edit.ts';
import { settingsPath } from '../../hooks/install/settings-files.ts';

/** A settings file of a host. */
export interface HostSettingsFile {
  readonly path: string;
  /** Whether an administrator owns the file; its switches hold for everybody. */
  readonly isManaged: boolean;
}

/** Lists every settings file that the host reads in this folder and that exists. */
export function listSettingsFiles(host: HostName, folders: SettingsFolders): readonly HostSettingsFile[] {
  const own = [settingsPath(host, false, folders), settingsPath(host, true, folders), ...otherFiles(host, folders)];
  const files = [
    ...own.map((path) => ({ path, isManaged: false })),
    ...managedFiles(host, folders).map((path) => ({ path, isManaged: true })),
  ];
  const paths = new Set<string>();
  return files.filter(({ path }) => !paths.has(path) && paths.add(path) && isFile(path));
}

function otherFiles(host: HostName, { home, project, env }: SettingsFolders): readonly string[] {
  switch (host) {
    case 'claude-code':
      return [
        join(project, '.claude', 'settings.local.json'),
        join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.local.json'),
      ];
    case 'codex':
      return [join(env.CODEX_HOME || join(home, '.codex'), 'config.toml'), join(project, '.codex', 'config.toml')];
    case 'gemini':
      return [];
  }
}

function managedFiles(host: HostName, { env }: SettingsFolders): readonly string[] {
  const isMac = process.platform === 'darwin';
  switch (host) {
    case 'claude-code': {
      const folder = isMac ? '/Library/Application Support/ClaudeCode' : '/etc/claude-code';
      const parts = join(folder, 'managed-settings.d');
      const more = existsSync(parts) ? readdirSync(parts).filter((name) => name.endsWith('.json')) : [];
      return [join(folder, 'managed-settings.json'), ...more.map((name) => join(parts, name))];
    }
    case 'codex':
      return ['config.toml', 'managed_config.toml', 'requirements.toml', 'hooks.json'].map((name) =>
        join('/etc/codex', name),
      );
    case 'gemini': {
      const folder = isMac ? '/Library/Application Support/GeminiCli' : '/etc/gemini-cli';
      return [
        env.GEMINI_CLI_SYSTEM_SETTINGS_PATH || join(folder, 'settings.json'),
        env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH || join(folder, 'system-defaults.json'),
      ];
    }
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Finds the switches of a settings file that keep hooks from running; throws if the file cannot be read. */
export function findHookSwitches(host: HostName, { path, isManaged }: HostSettingsFile): readonly string[] {
  const settings = readSettings(path);
  const at = (...names: readonly string[]) =>
    names.reduce<unknown>((value, name) => (isTable(value) ? value[name] : undefined), settings);
  const isListed = (value: unknown) => Array.isArray(value) && value.some((each) => /switchgear/i.test(String(each)));
  const switches: Readonly<Record<HostName, readonly (readonly [string, boolean])[]>> = {
    'claude-code': [
      ['disableAllHooks', at('disableAllHooks') === true],
      ['allowManagedHooksOnly', isManaged && at('allowManagedHooksOnly') === true],
      ['env.CLAUDE_CODE_SIMPLE', isSet(at('env', 'CLAUDE_CODE_SIMPLE'))],
      ['env.CLAUDE_CODE_SAFE_MODE', isSet(at('env', 'CLAUDE_CODE_SAFE_MODE'))],
    ],
    codex: [
      ['features.hooks', at('features', 'hooks') === false],
      ['features.codex_hooks', at('features', 'codex_hooks') === false],
      ['allow_managed_hooks_only', isManaged && at('allow_managed_hooks_only') === true],
      ['hooks.state', hasDisabledHook(at('hooks', 'state'))],
    ],
    gemini: [
      ['hooksConfig.enabled', at('hooksConfig', 'enabled') === false],
      ['hooksConfig.disabled', isListed(at('hooksConfig', 'disabled'))],
      ['hooks.enabled', at('hooks', 'enabled') === false],
      ['hooks.disabled', isListed(at('hooks', 'disabled'))],
      ['tools.enableHooks', at('tools', 'enableHooks') === false],
    ],
  };
  return switches[host].flatMap(([name, isOff]) => (isOff ? [name] : []));
}

function isSet(value: unknown): boolean {
  return value !== undefined && !['', '0', 'false'].includes(String(value));
}

/** Codex keeps a state per hook, under a name that contains the path of its file. */
function hasDisabledHook(state: unknown): boolean {
  return isTable(state) && Object.values(state).some((each) => isTable(each) && each.enabled === false);
}

/** Reads a settings file in JSON or TOML; throws if that is not possible. */
export function readSettings(path: string): unknown {
  const text = readFileSync(path, 'utf8');
  if (!path.endsWith('.toml')) return parseJsonTree(text).value;
  if (text.length > policyFileBytesMax * 4) throw new Error('the file is too long');
  const document = findBoundsProblem(text) === undefined ? parseToml(text) : undefined;
  if (document?.ok !== true) throw new Error(document?.problem.message ?? 'the file is nested too deeply');
  return document.value;
}
