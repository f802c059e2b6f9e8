/** Collects the abilities of a chain that the command runs: MCP servers, and built-in ones that the policy turns on. */

import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { AbilitySource } from '../../chains/abilities/ability.ts';
import { httpAbilities } from '../../chains/abilities/http.ts';
import { mcpAbilities } from '../../chains/abilities/mcp/index.ts';
import { type ShellOptions, shellAbilities } from '../../chains/abilities/shell.ts';
import type { AbilitySettings } from '../../core/declare/ability-settings.ts';
import { SwitchgearError } from '../../core/error.ts';
import { policyBytesMax } from '../../core/limits.ts';
import { sanitizeText } from '../../operator/format.ts';
import type { Terminal } from '../command.ts';

/** File names under which agent hosts keep the MCP servers of a folder. */
const mcpFiles = ['.mcp.json', 'mcp.json'];

interface AbilityOptions {
  /** The file of MCP servers, if one was given. */
  readonly mcp: string | undefined;
  readonly isVerbose: boolean;
  readonly shell: Pick<ShellOptions, 'graceSecs' | 'leftBehind'>;
}

/** The servers of the given file, or else of the file in the folder; they start in the folder of their file. */
export function collectAbilitySources(
  { mcp: mcpOption, isVerbose, shell }: AbilityOptions,
  folder: string,
  settings: AbilitySettings,
  { cwd, env, err }: Terminal,
): readonly AbilitySource[] {
  const defaultPath = mcpFiles.map((name) => join(folder, name)).find((path) => existsSync(path));
  const path = mcpOption === undefined ? defaultPath : resolve(cwd, mcpOption);
  const onServerLine = isVerbose
    ? (server: string, line: string) => err(sanitizeText(`[${server}] ${line}`))
    : undefined;
  const servers =
    path === undefined ? [] : [readServers(path, mcpOption ?? relative(cwd, path), { env, onStderr: onServerLine })];
  return [...servers, httpAbilities(settings), shellAbilities(settings, { ...shell, cwd: folder, env })];
}

function readServers(
  path: string,
  name: string,
  options: Omit<NonNullable<Parameters<typeof mcpAbilities>[1]>, 'cwd'>,
) {
  const configError = (why: string) => new SwitchgearError('invalid_mcp_config', `${name}: ${why}`);
  let config: unknown;
  try {
    const { size } = statSync(path);
    if (size > policyBytesMax) throw new Error(`the file has ${size} bytes, at most ${policyBytesMax}`);
    config = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw configError(`the file cannot be read: ${(error as Error).message}`);
  }
  try {
    return mcpAbilities(config, { ...options, cwd: dirname(path) });
  } catch (error) {
    throw error instanceof SwitchgearError ? configError(error.message) : error;
  }
}
