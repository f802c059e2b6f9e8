/** Leads an agent to a gateway: by variables, flags and files that its CLI reads, and finds the providers behind it. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { AgentCommand } from '../../agents/reading/agent-command.ts';
import { isTable } from '../../core/plain-copy.ts';
import { parseToml } from '../../document/parse-toml.ts';
import type { ProviderName } from '../../gateway/providers.ts';
import { parseJsonTree } from '../../hooks/install/json-edit.ts';
import { stateFolder } from '../../platform/state-folder.ts';
import type { Terminal } from '../command.ts';
import { parseUrl } from './upstream-urls.ts';

/** What an agent needs to reach a gateway. */
export interface Lead {
  readonly env: Readonly<Record<string, string>>;
  /** Flags of its command. */
  readonly args: readonly string[];
}

/** How an agent is led. */
export interface LeadPlan {
  /** Where the agent would send its requests, if it does not use the address of the provider. */
  readonly upstreams: Readonly<Partial<Record<ProviderName, URL>>>;
  /** Whether the base URL of OpenAI's API has no version, so that the `/v1` of a request is left out. */
  readonly isUnversioned: boolean;
  /** Leads the agent to the gateway at an address. */
  lead(url: string): Lead;
  /** Why some requests of the agent will not reach the gateway. */
  readonly problem?: string | undefined;
}

type Table = Readonly<Record<string, unknown>>;
type BaseUrls = Partial<Record<ProviderName, string | undefined>>;

/** A part of the plan that one CLI needs. */
interface OwnPlan {
  /** Base URLs that the configuration of the CLI names. */
  readonly baseUrls?: BaseUrls;
  lead(url: string): Lead;
  readonly problem?: string | undefined;
}

/** The variables with base URLs. */
const variables: Readonly<Record<ProviderName, string>> = {
  anthropic: 'ANTHROPIC_BASE_URL',
  openai: 'OPENAI_BASE_URL',
  gemini: 'GOOGLE_GEMINI_BASE_URL',
};

const nothing: Lead = { env: {}, args: [] };

/** Plans how an agent is led to a gateway. A base URL that was set is the upstream of the gateway. */
export function planLead(
  { cli }: Pick<AgentCommand, 'cli'>,
  command: readonly string[],
  terminal: Pick<Terminal, 'env' | 'cwd'>,
  upstreamUrls: Partial<Record<ProviderName, URL>> = {},
): LeadPlan {
  const { env } = terminal;
  const own = planOwn(cli, command, terminal);
  const written = (name: ProviderName) => own?.baseUrls?.[name] ?? (env[variables[name]] || undefined);
  const upstreams: Partial<Record<ProviderName, URL>> = { ...upstreamUrls };
  let isUnversioned = false;
  for (const name of Object.keys(variables) as ProviderName[]) {
    const text = written(name);
    if (text === undefined || upstreams[name] !== undefined) continue;
    const url = parseUrl(variables[name], text);
    upstreams[name] = name === 'openai' ? new URL(url.href.replace(versionEnd, '')) : url;
    isUnversioned ||= name === 'openai' && !versionEnd.test(url.href);
  }
  return {
    upstreams,
    isUnversioned,
    problem: own?.problem,
    lead(url) {
      const { env: ownEnv, args } = own?.lead(url) ?? nothing;
      const shared = { ANTHROPIC_BASE_URL: url, OPENAI_BASE_URL: `${url}/v1`, GOOGLE_GEMINI_BASE_URL: url };
      return { env: { ...shared, ...leadGemini(env), ...ownEnv }, args };
    },
  };
}

/** Base URLs of OpenAI's API end with the version, with which the paths of requests to the gateway begin. */
const versionEnd = /\/v1\/?$/;

function planOwn(
  cli: AgentCommand['cli'],
  command: readonly string[],
  terminal: Pick<Terminal, 'env' | 'cwd'>,
): OwnPlan | undefined {
  switch (cli) {
    case 'claude-code':
      return planClaude(command, terminal);
    case 'codex':
      return planCodex(command, terminal);
    case 'opencode':
      return planOpencode(command, terminal);
    case 'gemini':
    case 'other':
      return undefined;
  }
}

/** Variables in the settings of Claude Code hide those of its environment; only a flag is stronger. */
function planClaude(command: readonly string[], { env, cwd }: Pick<Terminal, 'env' | 'cwd'>): OwnPlan | undefined {
  const home = env.HOME || homedir();
  const files = [
    join(cwd, '.claude', 'settings.local.json'),
    join(cwd, '.claude', 'settings.json'),
    join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json'),
  ];
  const found = files.map((path) => textOf(tableOf(readJson(path).env)[variables.anthropic])).find(Boolean);
  if (found === undefined) return undefined;
  const hasSettings = command.some((word) => /^--settings(=|$)/.test(word));
  return {
    baseUrls: { anthropic: found },
    lead: (url) => ({
      env: {},
      args: hasSettings ? [] : ['--settings', JSON.stringify({ env: { [variables.anthropic]: url } })],
    }),
    problem: hasSettings
      ? `the settings of Claude Code name another ${variables.anthropic}, and the command has --settings already`
      : undefined,
  };
}

/** Codex reads no variable: its base URL is a setting of the provider in use, which a flag changes. */
function planCodex(command: readonly string[], { env }: Pick<Terminal, 'env'>): OwnPlan {
  const folder = env.CODEX_HOME || join(env.HOME || homedir(), '.codex');
  const config = readToml(join(folder, 'config.toml'));
  const flags = readFlags(command, '-c', '--config');
  const setBy = (key: string) =>
    flags
      .findLast((each) => each.startsWith(`${key}=`))
      ?.slice(key.length + 1)
      .replace(/^"(.*)"$/, '$1');
  const profile = readFlags(command, '-p', '--profile').at(-1) ?? textOf(config.profile) ?? '';
  const inProfile = tableOf(tableOf(config.profiles)[profile]);
  const provider =
    setBy('model_provider') ?? textOf(inProfile.model_provider) ?? textOf(config.model_provider) ?? 'openai';
  const isBuiltIn = provider === 'openai';
  const key = isBuiltIn ? 'openai_base_url' : `model_providers.${provider}.base_url`;
  const written = isBuiltIn ? config.openai_base_url : tableOf(tableOf(config.model_providers)[provider]).base_url;
  const isAccount = isBuiltIn && isTable(readJson(join(folder, 'auth.json')).tokens) && !env.CODEX_API_KEY;
  const given = setBy(key) ?? textOf(written) ?? (isAccount ? accountUrl : undefined);
  return {
    baseUrls: { openai: given },
    lead: (url) => ({ env: {}, args: ['-c', `${key}="${url}/v1"`] }),
  };
}

/** Where Codex sends the requests of a ChatGPT account. */
const accountUrl = 'https://chatgpt.com/backend-api/codex';

/**
 * With the variable of its base URL alone, Gemini CLI refuses to run without a person: it must also be told that it has
 * a key. Defaults are weaker than every setting of the user.
 */
function leadGemini(env: Terminal['env']): Readonly<Record<string, string>> {
  const given = env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH;
  if (!env.GEMINI_API_KEY) return {};
  const path = join(stateFolder(env), 'gemini-defaults.json');
  const earlier = readJson(given && given !== path ? given : '/etc/gemini-cli/system-defaults.json');
  const security = tableOf(earlier.security);
  const auth = { selectedType: 'gemini-api-key', ...tableOf(security.auth) };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, JSON.stringify({ ...earlier, security: { ...security, auth } }), { mode: 0o600 });
  } catch {
    return {}; // Its own settings may say it.
  }
  return { GEMINI_CLI_SYSTEM_DEFAULTS_PATH: path };
}

/** The providers of opencode whose base URL is known, with the path of their API. */
const opencodeProviders: Readonly<Record<string, readonly [ProviderName, string]>> = {
  anthropic: ['anthropic', '/v1'],
  openai: ['openai', '/v1'],
  google: ['gemini', '/v1beta'],
};

/** opencode has a base URL per provider in its configuration, over which a variable can be laid. */
function planOpencode(command: readonly string[], { env, cwd }: Pick<Terminal, 'env' | 'cwd'>): OwnPlan {
  const home = env.HOME || homedir();
  const folder = join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');
  const content = parseTable(env.OPENCODE_CONFIG_CONTENT);
  const files = [env.OPENCODE_CONFIG ?? '', ...[cwd, folder].flatMap((each) => listConfigs(each))];
  const configs = [content, ...files.map(readJson)];
  const model = readFlags(command, '-m', '--model').at(-1) ?? configs.map(({ model }) => textOf(model)).find(Boolean);
  const id = model?.includes('/') ? model.slice(0, model.indexOf('/')) : findKeyedProvider(env);
  const settings = configs.map(({ provider }) => tableOf(tableOf(provider)[id]));
  const given = settings.map(({ options }) => textOf(tableOf(options).baseURL)).find(Boolean);
  const packageName = settings.map(({ npm }) => textOf(npm)).find(Boolean) ?? '';
  const [name, path] = opencodeProviders[id] ?? opencodeProviders[packageKinds.get(packageName) ?? 'openai']!;
  if (given === undefined && !Object.hasOwn(opencodeProviders, id)) {
    const problem = `the provider ${JSON.stringify(id)} of opencode has no baseURL in its configuration`;
    return { lead: () => nothing, problem };
  }
  const lead = (url: string): Lead => {
    const own = tableOf(tableOf(content.provider)[id]);
    const options = { ...tableOf(own.options), baseURL: `${url}${path}` };
    const provider = { ...tableOf(content.provider), [id]: { ...own, options } };
    return { env: { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...content, provider }) }, args: [] };
  };
  const bare = name === 'openai' ? given : given?.replace(new RegExp(`${path}/?$`), '');
  return { baseUrls: { [name]: bare }, lead };
}

/** The provider whose key the environment has, for a configuration that names no model. */
function findKeyedProvider(env: Terminal['env']): string {
  if (env.ANTHROPIC_API_KEY) return 'anthropic';
  return env.OPENAI_API_KEY ? 'openai' : env.GOOGLE_GENERATIVE_AI_API_KEY ? 'google' : 'opencode';
}

/** The APIs of packages that providers of opencode are made of. */
const packageKinds: ReadonlyMap<string, string> = new Map([
  ['@ai-sdk/anthropic', 'anthropic'],
  ['@ai-sdk/google', 'google'],
]);

function listConfigs(folder: string): readonly string[] {
  return ['opencode.json', 'opencode.jsonc', 'config.json'].map((name) => join(folder, name));
}

/** The values of a flag, in both spellings. */
function readFlags(command: readonly string[], ...names: readonly string[]): readonly string[] {
  return command.flatMap((word, at) => {
    if (names.includes(word)) return command[at + 1] ?? [];
    const name = names.find((each) => each.startsWith('--') && word.startsWith(`${each}=`));
    return name === undefined ? [] : word.slice(name.length + 1);
  });
}

function readJson(path: string): Table {
  return parseTable(readText(path));
}

/** A table in JSON with comments; an empty one if it cannot be read, as the CLI itself will report. */
function parseTable(text: string | undefined): Table {
  try {
    return tableOf(text?.trim() ? parseJsonTree(text).value : {});
  } catch {
    return {};
  }
}

function readToml(path: string): Table {
  const parsed = parseToml(readText(path) ?? '');
  return parsed.ok ? tableOf(parsed.value) : {};
}

function readText(path: string): string | undefined {
  try {
    return path === '' ? undefined : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function tableOf(value: unknown): Table {
  return isTable(value) ? value : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
