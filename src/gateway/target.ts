/** Reads the target of a request to the gateway: its task, the provider, and what kind of path it is. */

import type { IncomingHttpHeaders } from 'node:http';
import { evictOldest } from '../core/bounded.ts';
import type { ProviderName } from './providers.ts';
import { findShape } from './shapes/index.ts';
import type { ApiShape } from './shapes/shape.ts';

/** What a request asks for. */
export interface RequestTarget {
  /** The task that the path names, before the path of the API. */
  readonly task?: string;
  /** The path of the API with its query, as it goes to the upstream. */
  readonly url: string;
  /** The same in the spelling of the API's own pages. */
  readonly spelled: string;
  readonly provider: ProviderName;
  /** `free` paths cost nothing; `unpriced` ones spend and cannot be metered. */
  readonly kind: 'model' | 'free' | 'unpriced';
  readonly shape?: ApiShape;
}

const taskPrefix = /^\/task\/([^/]{1,200})(?=\/)/;

/** Paths that cost nothing, by method. */
const freePaths: readonly (readonly [string, RegExp])[] = [
  ['GET', /^\/v1(beta)?\/models(\/[^/]+)?$/],
  ['POST', /^\/v1\/messages\/count_tokens$/],
  ['POST', /^\/v1(beta)?\/models\/[^/:]+:countTokens$/],
  ['POST', /^\/v1\/responses\/input_tokens$/],
];

/** The part of a target that its method and path alone decide. */
interface ReadPath extends Pick<RequestTarget, 'task' | 'url' | 'spelled' | 'kind' | 'shape'> {}

/** Paths that were read last: a client sends the same one again and again. */
const readPaths = new Map<string, ReadPath>();
const readPathsMax = 500;
const readPathLengthMax = 300;

/** Reads a target; undefined if it is no plain path. */
export function readTarget(method: string, url: string, headers: IncomingHttpHeaders): RequestTarget | undefined {
  const key = `${method} ${url}`;
  const known = readPaths.get(key);
  const path = known ?? readPath(method, url);
  if (path === undefined) return undefined;
  // A query may hold a key, which is not kept.
  if (known === undefined && key.length <= readPathLengthMax && !url.includes('?')) {
    evictOldest(readPaths, readPathsMax);
    readPaths.set(key, path);
  }
  return { ...path, provider: findProvider(path.spelled, path.shape, headers) };
}

function readPath(method: string, url: string): ReadPath | undefined {
  if (!isPlainPath(url)) return undefined;
  const [prefix, encoded] = taskPrefix.exec(url) ?? [];
  const rest = prefix === undefined ? url : url.slice(prefix.length);
  const task = decodeSegment(encoded);
  if (encoded !== undefined && task === undefined) return undefined;
  const query = rest.indexOf('?');
  const path = query === -1 ? rest : rest.slice(0, query);
  const spelled = spellPath(path);
  const shape = method === 'POST' ? findShape(spelled) : undefined;
  const isFree = freePaths.some(([each, pattern]) => each === method && pattern.test(path));
  return {
    ...(task !== undefined && { task }),
    url: rest,
    spelled: query === -1 ? spelled : `${spelled}${rest.slice(query)}`,
    kind: shape !== undefined ? 'model' : isFree ? 'free' : 'unpriced',
    ...(shape && { shape }),
  };
}

/**
 * A path as the API writes it: an upstream may read several slashes as one, ignore one at the end and parameters of
 * segments, and decodes letters, so such a spelling of a model call is metered like the call.
 */
function spellPath(path: string): string {
  const decoded = decodeURIComponent(path).replaceAll('?', '%3F');
  const spelled = decoded
    .replaceAll(/;[^/]*/g, '')
    .replaceAll(/\/{2,}/g, '/')
    .replace(/[\s/]+$/, '');
  return spelled === '' ? '/' : spelled;
}

/**
 * Whether a target is an absolute path that every server reads alike: no other host, no parent folders in any
 * encoding, no backslashes or control characters.
 */
function isPlainPath(url: string): boolean {
  const path = url.split('?', 1)[0]!;
  if (!path.startsWith('/') || path.startsWith('//') || url.length > 8_000) return false;
  if (/[\\#\s]|%(?:00|0a|0d|2f|5c)/i.test(path) || decodeSegment(path) === undefined) return false;
  return !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path);
}

function decodeSegment(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The provider of a path; paths that two APIs share are told apart by the headers of their clients. */
function findProvider(path: string, shape: ApiShape | undefined, headers: IncomingHttpHeaders): ProviderName {
  // Gemini has the APIs of OpenAI, too.
  if (shape !== undefined) return /^\/v1beta\//i.test(path) ? 'gemini' : shape.provider;
  if (path.startsWith('/v1/messages') || headers['anthropic-version'] !== undefined) return 'anthropic';
  const isGoogle = headers['x-goog-api-key'] !== undefined || headers['x-goog-api-client'] !== undefined;
  return path.startsWith('/v1beta/') || path.startsWith('/upload/') || isGoogle ? 'gemini' : 'openai';
}
