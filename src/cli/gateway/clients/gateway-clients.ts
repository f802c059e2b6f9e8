/** Where each agent CLI keeps the base URL of its model, and how that place is read and written. */

import { join } from 'node:path';
import { isTable } from '../../../core/plain-copy.ts';
import { parseToml } from '../../../document/parse-toml.ts';
import type { SettingsFolders } from '../../../hooks/hosts/settings-paths.ts';
import { insertPart, type JsonNode, parseJsonTree, removePart } from '../../../hooks/install/json-edit.ts';
import { settingsPath } from '../../../hooks/install/settings-files.ts';

/** Every CLI whose base URL can be set. */
export const gatewayClients = ['claude-code', 'codex', 'gemini', 'opencode'] as const;

export type GatewayClient = (typeof gatewayClients)[number];

/** One value in a settings file. */
export interface SettingsValue {
  /** The value in a text; undefined if it is not set. */
  read(text: string): string | undefined;
  /** The text with another value, or without it; everything else keeps its bytes. */
  write(text: string, value: string | undefined): string;
  /** The value that leads to a gateway. */
  point(gatewayUrl: string): string;
  /** Whether it is a base URL, and not a setting that the base URL needs. */
  readonly isBaseUrl: boolean;
}

/** A settings file of a client, and the value in it. */
export interface SettingsPlace {
  readonly path: string;
  /** Finds the value, which may depend on the text. */
  find(text: string): SettingsValue;
}

/** Lists the settings of a client; the first one is the base URL. */
export function listBaseUrlSettings(
  client: GatewayClient,
  isProject: boolean,
  folders: SettingsFolders,
): readonly SettingsPlace[] {
  const { home, project, env } = folders;
  switch (client) {
    case 'claude-code': {
      const value = jsonValue(['env', 'ANTHROPIC_BASE_URL'], (url) => url);
      return [{ path: settingsPath(client, isProject, folders), find: () => value }];
    }
    case 'codex': {
      const folder = isProject ? join(project, '.codex') : env.CODEX_HOME || join(home, '.codex');
      return [{ path: join(folder, 'config.toml'), find: findCodexValue }];
    }
    case 'gemini': {
      const folder = join(isProject ? project : env.GEMINI_CLI_HOME || home, '.gemini');
      const auth = jsonValue(['security', 'auth', 'selectedType'], () => 'gemini-api-key', false);
      return [
        { path: join(folder, '.env'), find: () => variable },
        { path: join(folder, 'settings.json'), find: () => auth },
      ];
    }
    case 'opencode': {
      const folder = isProject ? project : join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');
      return [{ path: join(folder, 'opencode.json'), find: findOpencodeValue }];
    }
  }
}

function jsonValue(keys: readonly string[], point: (url: string) => string, isBaseUrl = true): SettingsValue {
  return {
    point,
    isBaseUrl,
    read(text) {
      const value = findNode(parseObject(text), keys)?.value;
      return typeof value === 'string' ? value : undefined;
    },
    write: (text, value) => writeJson(text.trim() === '' ? '{}\n' : text, keys, value),
  };
}

function parseObject(text: string): JsonNode {
  return parseJsonTree(text.trim() === '' ? '{}' : text);
}

function findNode(root: JsonNode, keys: readonly string[]): JsonNode | undefined {
  return keys.reduce<JsonNode | undefined>((node, name) => node?.parts.findLast(({ key }) => key === name), root);
}

/** Sets a text in nested objects, or removes it with the objects that it leaves empty. */
function writeJson(text: string, keys: readonly string[], value: string | undefined): string {
  const root = parseJsonTree(text);
  const node = findNode(root, keys);
  if (value !== undefined && node !== undefined)
    return text.slice(0, node.start) + JSON.stringify(value) + text.slice(node.end);
  if (value === undefined) return removeJson(text, root, keys);
  let depth = keys.length - 1;
  while (findNode(root, keys.slice(0, depth)) === undefined) depth--;
  const parent = findNode(root, keys.slice(0, depth))!;
  const added = keys.slice(depth + 1).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  return insertPart(text, parent, keys[depth], added);
}

function removeJson(text: string, root: JsonNode, keys: readonly string[]): string {
  for (let depth = keys.length; depth > 0; depth--) {
    const parent = findNode(root, keys.slice(0, depth - 1));
    const part = parent?.parts.findLast(({ key }) => key === keys[depth - 1]);
    if (parent === undefined || part === undefined) return text;
    if (parent.parts.length > 1 || depth === 1) return removePart(text, parent, part);
  }
  return text;
}

/** The base URL of the provider that Codex uses; it must stand above the first table, or in that of the provider. */
function findCodexValue(text: string): SettingsValue {
  const parsed = parseToml(text);
  const config = parsed.ok && isTable(parsed.value) ? parsed.value : {};
  const provider = typeof config.model_provider === 'string' ? config.model_provider : 'openai';
  const point = (url: string) => `${url}/v1`;
  if (provider === 'openai') return lineValue('openai_base_url', undefined, point);
  return lineValue('base_url', `model_providers.${provider}`, point);
}

/** A line `key = "value"` in the part of a TOML text that belongs to a table, or to none. */
function lineValue(key: string, table: string | undefined, point: (url: string) => string): SettingsValue {
  const line = new RegExp(`^[ \\t]*${key}[ \\t]*=[ \\t]*(?:"([^"\\n]*)"|'([^'\\n]*)')[^\\n]*(?:\\n|$)`, 'm');
  const section = (text: string): readonly [number, number] => {
    const heads = [...text.matchAll(/^[ \t]*\[+([^\]\n]+)\]+[^\n]*(?:\n|$)/gm)];
    if (table === undefined) return [0, heads[0]?.index ?? text.length];
    const at = heads.findIndex(([, name = '']) => name.replaceAll(/["'\s]/g, '') === table);
    const head = heads[at];
    return head === undefined ? [-1, -1] : [head.index + head[0].length, heads[at + 1]?.index ?? text.length];
  };
  return {
    point,
    isBaseUrl: true,
    read(text) {
      const [, double, single] = line.exec(text.slice(...section(text))) ?? [];
      return section(text)[0] === -1 ? undefined : (double ?? single);
    },
    write(text, value) {
      const [start, end] = section(text);
      if (start === -1) return text;
      const part = text.slice(start, end);
      const added = value === undefined ? '' : `${key} = ${JSON.stringify(value)}\n`;
      const changed = line.test(part) ? part.replace(line, () => added) : added + part;
      return text.slice(0, start) + changed + text.slice(end);
    },
  };
}

const variableLine = /^(?:export[ \t]+)?GOOGLE_GEMINI_BASE_URL[ \t]*=[ \t]*(.*)(?:\n|$)/m;

/** The variable in a file of variables. */
const variable: SettingsValue = {
  point: (url) => url,
  isBaseUrl: true,
  read: (text) => variableLine.exec(text)?.[1]?.replaceAll(/^["']|["']$/g, ''),
  write(text, value) {
    const added = value === undefined ? '' : `GOOGLE_GEMINI_BASE_URL=${value}\n`;
    if (variableLine.test(text)) return text.replace(variableLine, () => added);
    return text === '' || text.endsWith('\n') ? text + added : `${text}\n${added}`;
  },
};

/** The base URL of the provider of opencode's model. */
function findOpencodeValue(text: string): SettingsValue {
  const { model } = parseObject(text).value as { readonly model?: unknown };
  const id = typeof model === 'string' && model.includes('/') ? model.slice(0, model.indexOf('/')) : 'anthropic';
  const version = id === 'google' ? '/v1beta' : '/v1';
  return jsonValue(['provider', id, 'options', 'baseURL'], (url) => url + version);
}
