/** `switchgear init CLIENT --gateway`: sets the base URL of an agent CLI to a gateway, and back with `--undo`. */

import { existsSync, readFileSync, realpathSync } from 'node:fs';
import type { ProviderName } from '../../../gateway/providers.ts';
import type { SettingsFolders } from '../../../hooks/hosts/settings-paths.ts';
import { exitCodes, type ParsedArgs, type Terminal } from '../../command.ts';
import {
  printDiff,
  readBackup,
  reportSystemErrors,
  type SettingsBackup,
  saveBackup,
  withPathInErrors,
  writeSettings,
} from '../../install/settings-backup.ts';
import { parseUrl } from '../upstream-urls.ts';
import { type GatewayClient, listBaseUrlSettings, type SettingsPlace } from './gateway-clients.ts';

const defaultGatewayUrl = 'http://127.0.0.1:4777';

const advice: Readonly<Record<GatewayClient, string>> = {
  'claude-code': 'Sessions of Claude Code that begin from now on ask the gateway',
  codex: 'Sessions of Codex that begin from now on ask the gateway',
  gemini: 'Sessions of Gemini CLI that begin from now on ask the gateway, with the key in GEMINI_API_KEY',
  opencode: 'Sessions of opencode that begin from now on ask the gateway',
};

/** Changes the settings of a client; returns the exit code. */
export async function changeBaseUrl(
  client: GatewayClient,
  parsedArgs: ParsedArgs,
  folders: SettingsFolders,
  terminal: Terminal,
): Promise<number> {
  const { switches, values } = parsedArgs;
  const url = parseUrl('--url', values.get('--url') ?? defaultGatewayUrl).href.replace(/\/$/, '');
  let replaced: string | undefined;
  for (const place of listBaseUrlSettings(client, switches.has('--project'), folders)) {
    await reportSystemErrors(place.path, async () => {
      replaced = changePlace(place, url, switches, terminal) ?? replaced;
      return exitCodes.ok;
    });
  }
  if (switches.has('--undo') || switches.has('--dry-run')) return exitCodes.ok;
  terminal.out(`${advice[client]}. Start it with: switchgear gateway${formatUpstream(client, replaced)}`);
  terminal.out('To see that a halt reaches the client: switchgear doctor --gateway');
  return exitCodes.ok;
}

/** Changes one value; returns the base URL that it had, if that was another one. */
function changePlace(
  place: SettingsPlace,
  url: string,
  switches: ParsedArgs['switches'],
  terminal: Terminal,
): string | undefined {
  // Keep a symbolic link and change its target.
  const path = existsSync(place.path) ? realpathSync(place.path) : place.path;
  const before = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  const isUndo = switches.has('--undo');
  const backup = readBackup(path, terminal, 'gateway');
  const { after, replaced } = withPathInErrors(path, () => {
    if (isUndo) return { after: takeBack(place, before, url, backup), replaced: undefined };
    const value = place.find(before ?? '');
    const present = value.read(before ?? '');
    const wanted = value.point(url);
    if (present === wanted) return { after: before, replaced: undefined };
    return { after: value.write(before ?? '', wanted), replaced: value.isBaseUrl ? present : undefined };
  });
  if (after === before) {
    terminal.out(`${path}: nothing to change`);
    return undefined;
  }
  if (!switches.has('--dry-run')) {
    saveBackup(path, isUndo ? undefined : { before: before ?? null, after: after ?? '' }, terminal, 'gateway');
    writeSettings(path, after);
  }
  printDiff(path, before ?? '', after ?? '', terminal);
  return replaced;
}

/**
 * The text from before `init` if the file was not changed since; otherwise the text with the value of then. A value
 * that somebody else has set stays.
 */
function takeBack(
  place: SettingsPlace,
  current: string | undefined,
  url: string,
  backup: SettingsBackup | undefined,
): string | undefined {
  if (current === undefined) return undefined;
  if (backup?.after === current) return backup.before ?? undefined;
  const value = place.find(current);
  const own = backup === undefined ? value.point(url) : value.read(backup.after);
  if (value.read(current) !== own || (backup === undefined && !value.isBaseUrl)) return current;
  const remaining = value.write(current, value.read(backup?.before ?? ''));
  const isEmpty = remaining.trim() === '' || remaining.trim() === '{}';
  return isEmpty && backup?.before === null ? undefined : remaining;
}

const providers: Readonly<Record<GatewayClient, ProviderName>> = {
  'claude-code': 'anthropic',
  codex: 'openai',
  gemini: 'gemini',
  opencode: 'openai',
};

/** The option that makes a base URL which was set before the upstream of the gateway. */
function formatUpstream(client: GatewayClient, replaced: string | undefined): string {
  return replaced === undefined ? '' : ` --upstream ${providers[client]}=${replaced.replace(/\/v1(beta)?\/?$/, '')}`;
}
