/** Flags and variables with which an agent CLI is started without its hooks; by the exact flag. */

import { basename, join, resolve } from 'node:path';
import { readRegularFile } from '../regular-file.ts';
import type { ShellCommand } from '../shell-reading.ts';
import { containsText, type OwnTargets, pathLengthMax, searchedBytesMax } from './own-files.ts';

type AgentCli = 'claude' | 'codex' | 'gemini';

/** The agent CLI that a command starts: by its program, its package, or the script of an interpreter. */
function findAgentCli([program = '', ...args]: readonly string[]):
  | { cli: AgentCli; args: readonly string[] }
  | undefined {
  const name = basename(program).replace(/(@[^/]*)$/, '');
  if (/^(node|bun|deno)$/.test(name)) {
    const at = args.findIndex((arg) => !arg.startsWith('-'));
    const [, cli] =
      /[\\/](claude|codex|gemini)(?:-code|-cli)?[\\/](?:.*[\\/])?[\w.-]+$/.exec(
        (args[at] ?? '').slice(-pathLengthMax),
      ) ?? [];
    return cli === undefined ? undefined : { cli: cli as AgentCli, args: args.slice(at + 1) };
  }
  const [, cli] = /^(claude|codex|gemini)(?:-code|-cli)?(?:\.[cm]?js|\.exe)?$/.exec(name) ?? [];
  return cli === undefined ? undefined : { cli: cli as AgentCli, args };
}

/** Describes the switch with which a command starts an agent CLI without hooks, or changes which hooks run. */
export function findHookSwitch(command: ShellCommand, cwd: string, targets: OwnTargets): string | undefined {
  const found = findAgentCli(command.words);
  if (found === undefined) return undefined;
  const { cli, args } = found;
  const valuesFor = (name: string) => [
    ...command.assigned.flatMap(([each, value]) => (each === name ? [value] : [])),
    ...command.variable(name),
  ];
  const place: SwitchPlace = { args, cwd, targets, valuesFor, readText: command.readText };
  const used =
    cli === 'claude' ? findClaudeSwitch(place) : cli === 'codex' ? findCodexSwitch(place) : findGeminiSwitch(place);
  return used === undefined ? undefined : `the hooks of ${cli} (${used})`;
}

interface SwitchPlace {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly targets: OwnTargets;
  /** The values that the script gives to a variable. */
  valuesFor(name: string): readonly string[];
  readText(path: string): string | undefined;
}

function findClaudeSwitch(place: SwitchPlace): string | undefined {
  const { args, valuesFor, targets } = place;
  const flag = args.find((arg) => /^--(bare|safe-mode)$/.test(arg));
  if (flag !== undefined) return flag;
  const off = valuesOf(args, '--settings').find((value) => switchesOff(readSettingsText(value, place)));
  if (off !== undefined) return '--settings';
  const sources = valuesOf(args, '--setting-sources');
  const named = new Set(sources.flatMap((value) => value.split(',').map((each) => each.trim())));
  const home = targets.env.CLAUDE_CONFIG_DIR || join(targets.env.HOME ?? '/', '.claude');
  const isOther = (path: string) => resolve(path) !== resolve(home);
  const hasMoved = [...valuesFor('CLAUDE_CONFIG_DIR'), ...valuesFor('HOME').map((path) => join(path, '.claude'))].some(
    isOther,
  );
  for (const path of targets.files) {
    if (!/[\\/]settings(\.local)?\.json$/.test(path) || !containsText(path, 'hook claude-code')) continue;
    const source = path.startsWith(`${home}/`) ? 'user' : path.endsWith('.local.json') ? 'local' : 'project';
    if (sources.length > 0 && !named.has(source)) return '--setting-sources';
    if (source === 'user' && hasMoved) return 'another settings folder';
  }
  return ['CLAUDE_CODE_SIMPLE', 'CLAUDE_CODE_SAFE_MODE'].find((name) => valuesFor(name).some(isSwitchedOn));
}

/** A value of `--settings`: JSON, or the path of a file. */
function readSettingsText(value: string, { cwd, readText }: SwitchPlace): string {
  if (value.trimStart().startsWith('{')) return value;
  return readText(value) ?? readRegularFile(resolve(cwd, value), searchedBytesMax)?.toString('utf8') ?? '';
}

function switchesOff(text: string): boolean {
  if (!/disableAllHooks|allowManagedHooksOnly|CLAUDE_CODE_S/.test(text.replaceAll(/\\u00([0-9a-f]{2})/gi, decodeHex)))
    return false;
  try {
    const { disableAllHooks, env } = JSON.parse(text) as { disableAllHooks?: unknown; env?: Record<string, unknown> };
    return (
      disableAllHooks === true || isSwitchedOn(env?.CLAUDE_CODE_SIMPLE) || isSwitchedOn(env?.CLAUDE_CODE_SAFE_MODE)
    );
  } catch {
    return true; // Hosts also read JSON with comments.
  }
}

function decodeHex(_: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}

function isSwitchedOn(value: unknown): boolean {
  return value !== undefined && !['', '0', 'false'].includes(String(value));
}

function findCodexSwitch({ args, valuesFor, targets }: SwitchPlace): string | undefined {
  const settings = [...valuesOf(args, '-c'), ...valuesOf(args, '--config')];
  const off = settings.find((setting) => {
    const at = setting.indexOf('=');
    const plain = setting.slice(0, Math.max(0, at)).replaceAll(/["'\s]/g, '');
    const value = setting.slice(at + 1);
    if (/^features$/.test(plain)) return /hooks["']?\s*=\s*false/.test(value);
    if (/^features\.(codex_)?hooks$/.test(plain)) return value.trim() !== 'true';
    return /^hooks(\.|$)/.test(plain);
  });
  if (off !== undefined) return '-c';
  if (valuesOf(args, '--disable').some(isHookFeature)) return '--disable hooks';
  if (args.includes('--ignore-user-config')) return '--ignore-user-config';
  const at = args.indexOf('features');
  if (at !== -1 && args[at + 1] === 'disable' && isHookFeature(args[at + 2] ?? '')) return 'features disable';
  const home = targets.env.CODEX_HOME || join(targets.env.HOME ?? '/', '.codex');
  const moved = [...valuesFor('CODEX_HOME'), ...valuesFor('HOME').map((path) => join(path, '.codex'))];
  return moved.some((path) => resolve(path) !== resolve(home)) && isHookedIn(home, targets)
    ? 'another settings folder'
    : undefined;
}

function isHookFeature(name: string): boolean {
  return /^(codex_)?hooks$/.test(name);
}

function findGeminiSwitch({ args, valuesFor, targets }: SwitchPlace): string | undefined {
  const at = args.indexOf('hooks');
  if (at !== -1 && /^disable(-all)?$/.test(args[at + 1] ?? '')) return `hooks ${args[at + 1]}`;
  const system = ['GEMINI_CLI_SYSTEM_SETTINGS_PATH', 'GEMINI_CLI_SYSTEM_DEFAULTS_PATH'].find(
    (name) => valuesFor(name).length > 0,
  );
  if (system !== undefined) return system;
  const home = targets.env.GEMINI_CLI_HOME || (targets.env.HOME ?? '/');
  const isMoved = [...valuesFor('GEMINI_CLI_HOME'), ...valuesFor('HOME')].some(
    (path) => resolve(path) !== resolve(home),
  );
  return isMoved && isHookedIn(join(home, '.gemini'), targets) ? 'another settings folder' : undefined;
}

/** Whether hooks of Switchgear are installed in a settings file of a folder. */
function isHookedIn(folder: string, { files }: OwnTargets): boolean {
  return files.some((path) => path.startsWith(`${folder}/`) && containsText(path, 'switchgear'));
}

/** The values of an option: `--name VALUE` and `--name=VALUE`. */
function valuesOf(args: readonly string[], name: string): readonly string[] {
  return args.flatMap((arg, at) => {
    if (arg === name) return [args[at + 1] ?? ''];
    return arg.startsWith(`${name}=`) ? [arg.slice(name.length + 1)] : [];
  });
}
