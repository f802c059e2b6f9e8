/** Chooses the upstream of a request among those of the policy and of the command. Nothing else is ever reached. */

import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { UpstreamSettings } from '../core/declare/upstream-settings.ts';
import { isMatch } from '../core/glob.ts';
import type { Runtime } from '../guard/internal.ts';
import { keyHeaders } from './keys/key-places.ts';
import { type ProviderName, providerUrls } from './providers.ts';
import type { Upstream } from './upstreams.ts';

/** The upstreams of a gateway. */
export interface UpstreamChoice {
  /**
   * The upstream of an API and a model; any model if it is unknown. Undefined if none is configured. For a client with
   * a key of the gateway, no key of the client is passed on.
   */
  find(provider: ProviderName, model: string | undefined, isKeyed: boolean): Upstream | undefined;
  /** Lists the problems of upstreams with their names; a missing key is one for clients with a key of the gateway. */
  listProblems(isKeyed: boolean): readonly string[];
}

/** Upstreams that the command names; they come before those of the policy. */
export interface GivenUpstreams {
  readonly upstreams: Readonly<Partial<Record<ProviderName, URL>>>;
  readonly fallbacks: Readonly<Partial<Record<ProviderName, URL>>>;
}

/** The place where variables and files with keys are looked up. */
export interface KeyPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

interface ModelUpstream extends Upstream {
  readonly models: readonly string[];
}

const providers = Object.keys(providerUrls) as readonly ProviderName[];

export function createUpstreamChoice(
  runtime: Pick<Runtime, 'settings'>,
  options: GivenUpstreams,
  place: KeyPlace,
): UpstreamChoice {
  const owned = listGiven(options);
  /** Made again when the policy has changed. */
  let made: { readonly from: readonly UpstreamSettings[] | undefined; readonly lists: UpstreamLists } | undefined;
  const keyed = new WeakMap<Upstream, Upstream>();

  function lists(): UpstreamLists {
    const from = runtime.settings.upstreams;
    if (made === undefined || made.from !== from) made = { from, lists: listConfigured(from, place) };
    return made.lists;
  }

  function findKeyed(upstream: Upstream): Upstream {
    const own = keyed.get(upstream) ?? withoutClientKey(upstream);
    keyed.set(upstream, own);
    return own;
  }

  return {
    find(provider, model, isKeyed) {
      const list = owned[provider] ?? lists()[provider];
      const found = list.find(({ models }) => model === undefined || models.some((glob) => isMatch(glob, model)));
      return found && isKeyed ? findKeyed(found) : found;
    },
    listProblems(isKeyed) {
      const all = providers.flatMap((provider) => owned[provider] ?? lists()[provider]);
      const names = new Map<string, Set<string>>();
      for (const each of all) {
        const { name, problem } = isKeyed ? findKeyed(each) : each;
        if (problem !== undefined) names.set(problem, (names.get(problem) ?? new Set()).add(name));
      }
      return [...names].map(([problem, of]) => `${[...of].join(', ')}: ${problem}`);
    },
  };
}

/** The upstream and its fallback, which may have a key of its own where the other has none. */
function withoutClientKey(upstream: Upstream): Upstream {
  const fallback = upstream.fallback && withoutClientKey(upstream.fallback);
  const own = { ...upstream, replacesKey: true, fallback: fallback?.problem === undefined ? fallback : undefined };
  return own.problem === undefined && lacksKey(upstream) ? { ...own, problem: keyless } : own;
}

/** An upstream on this machine may need no key; any header of the policy may take the place of one. */
function lacksKey({ baseUrl, headers }: Upstream): boolean {
  return Object.keys(headers).length === 0 && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(baseUrl.hostname);
}

const keyless =
  'it has no key of its own, and a key of the gateway is not passed on: set key_env, key_file or headers of it in ' +
  '[[upstreams]] of the policy';

type UpstreamLists = Readonly<Record<ProviderName, readonly ModelUpstream[]>>;

function listGiven({ upstreams, fallbacks }: GivenUpstreams): Partial<UpstreamLists> {
  const lists: Partial<Record<ProviderName, readonly ModelUpstream[]>> = {};
  for (const name of providers) {
    const baseUrl = upstreams[name] ?? (fallbacks[name] && new URL(providerUrls[name]));
    const fallback = fallbacks[name] && { name, baseUrl: fallbacks[name], headers: {} };
    if (baseUrl !== undefined) lists[name] = [{ name, baseUrl, headers: {}, models: ['*'], fallback }];
  }
  return lists;
}

function listConfigured(settings: readonly UpstreamSettings[] | undefined, place: KeyPlace): UpstreamLists {
  const listFor = (provider: ProviderName): readonly ModelUpstream[] => {
    if (settings === undefined)
      return [{ name: provider, baseUrl: new URL(providerUrls[provider]), headers: {}, models: ['*'] }];
    const offered = settings.filter(({ apis }) => apis.includes(provider));
    const resolved = new Map(offered.map((each) => [each.name, resolveUpstream(each, provider, place)]));
    // A fallback without its key could only answer 401.
    const findFallback = (name: string) => (resolved.get(name)?.problem === undefined ? resolved.get(name) : undefined);
    return offered.map(({ name, models, fallback = '' }) => ({
      ...resolved.get(name)!,
      models,
      fallback: findFallback(fallback),
    }));
  };
  return { anthropic: listFor('anthropic'), openai: listFor('openai'), gemini: listFor('gemini') };
}

/** Finds the key and the headers of an upstream. No message quotes one of them. */
function resolveUpstream(settings: UpstreamSettings, provider: ProviderName, place: KeyPlace): Upstream {
  const { name, url, headers: written, keyEnv, keyFile } = settings;
  const baseUrl = new URL(url);
  try {
    const headers: Record<string, string> = {};
    for (const [header, text] of Object.entries(written)) headers[header] = fillVariables(text, place);
    const key = keyEnv !== undefined ? readVariable(keyEnv, place) : keyFile && readKeyFile(keyFile, place);
    if (key) Object.assign(headers, writeKey(provider, key));
    for (const [header, value] of Object.entries(headers))
      if (!/^[\t\x20-\x7e]+$/.test(value)) throw new Error(`the header ${header} must be one line of plain letters`);
    return { name, baseUrl, headers, replacesKey: Object.keys(headers).some((each) => keyHeaders.includes(each)) };
  } catch (error) {
    return { name, baseUrl, headers: {}, replacesKey: true, problem: (error as Error).message };
  }
}

/** The key in the header where the API of a provider has it. */
function writeKey(provider: ProviderName, key: string): Readonly<Record<string, string>> {
  if (provider === 'openai') return { authorization: `Bearer ${key}` };
  return provider === 'gemini' ? { 'x-goog-api-key': key } : { 'x-api-key': key };
}

function fillVariables(text: string, place: KeyPlace): string {
  return text.replaceAll(/\$\{([^}]*)\}/g, (_, name: string) => readVariable(name.trim(), place));
}

function readVariable(name: string, { env }: KeyPlace): string {
  const value = (Object.hasOwn(env, name) ? env[name] : undefined)?.trim();
  if (value) return value;
  throw new Error(`the variable ${name} is not set`);
}

function readKeyFile(file: string, { cwd }: KeyPlace): string {
  let text = '';
  try {
    text = readFileSync(isAbsolute(file) ? file : join(cwd, file), 'utf8').trim();
  } catch (error) {
    throw new Error(`the file ${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'error'}`);
  }
  if (text === '') throw new Error(`the file ${file} is empty`);
  return text;
}
