/** The configuration files of MCP clients, and the servers that they name. */

import { join, win32 } from 'node:path';
import { SwitchgearError } from '../../../core/error.ts';
import { isTable } from '../../../core/plain-copy.ts';
import type { SettingsFolders } from '../../../hooks/hosts/settings-paths.ts';
import { type JsonNode, parseJsonTree } from '../../../hooks/install/json-edit.ts';
import { settingsPath } from '../../../hooks/install/settings-files.ts';

/** Every client whose configuration can be changed. */
export const clientNames = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'gemini'] as const;

export type ClientName = (typeof clientNames)[number];

/** Returns the file in which a client keeps its servers; undefined if the client has no file for a project. */
export function findClientFile(
  client: ClientName,
  isProject: boolean,
  folders: SettingsFolders,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  const { home, project, env } = folders;
  switch (client) {
    case 'claude-code':
      return isProject ? join(project, '.mcp.json') : join(env.CLAUDE_CONFIG_DIR || home, '.claude.json');
    case 'claude-desktop':
      return isProject ? undefined : joinApplicationPath(folders, platform, 'Claude', 'claude_desktop_config.json');
    case 'cursor':
      return join(isProject ? project : home, '.cursor', 'mcp.json');
    case 'vscode':
      return isProject
        ? join(project, '.vscode', 'mcp.json')
        : joinApplicationPath(folders, platform, 'Code', 'User', 'mcp.json');
    case 'gemini':
      return settingsPath('gemini', isProject, folders);
  }
}

/** A path in the folder in which applications with windows keep their settings. */
function joinApplicationPath({ home, env }: SettingsFolders, platform: string, ...names: readonly string[]): string {
  switch (platform) {
    case 'darwin':
      return join(home, 'Library', 'Application Support', ...names);
    case 'win32':
      return win32.join(env.APPDATA || win32.join(home, 'AppData', 'Roaming'), ...names);
    default:
      return join(env.XDG_CONFIG_HOME || join(home, '.config'), ...names);
  }
}

/** A server in the configuration of a client. */
export interface ServerPart {
  readonly name: string;
  /** The keys that lead to the entry. */
  readonly keys: readonly string[];
  readonly node: JsonNode;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** Lists the servers of a configuration file; throws if the text is not a JSON object. */
export function listServers(client: ClientName, text: string): readonly ServerPart[] {
  const root = parseJsonTree(text.trim() === '' ? '{}' : text);
  if (!isTable(root.value)) throw new SwitchgearError('invalid_json', 'the file must contain one JSON object');
  return listTables(client, root.value).flatMap((keys) => {
    // Of entries with the same name the last one counts, as in `JSON.parse`.
    const byName = new Map((findNode(root, keys)?.parts ?? []).map((part) => [part.key, part]));
    return [...byName].flatMap(([name = '', node]) =>
      isTable(node.value) ? [{ name, keys: [...keys, name], node, entry: node.value }] : [],
    );
  });
}

/** The keys of each table of servers. Claude Code keeps those of a folder in a table of that folder. */
function listTables(client: ClientName, root: Readonly<Record<string, unknown>>): readonly (readonly string[])[] {
  switch (client) {
    case 'vscode':
      return [['servers'], ['mcp', 'servers'], ['mcpServers']];
    case 'claude-code': {
      const folders = isTable(root.projects) ? Object.keys(root.projects) : [];
      return [['mcpServers'], ...folders.map((folder) => ['projects', folder, 'mcpServers'])];
    }
    case 'claude-desktop':
    case 'cursor':
    case 'gemini':
      return [['mcpServers']];
  }
}

/** Finds the value at a path of keys. */
export function findNode(root: JsonNode, keys: readonly string[]): JsonNode | undefined {
  return keys.reduce<JsonNode | undefined>(
    (node, name) => node?.parts.findLast(({ key }) => key === name && key !== undefined),
    root,
  );
}
