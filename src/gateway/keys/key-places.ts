/** Where requests carry keys: headers and parameters of the query. */

/** Headers that hold a key of a client. */
export const keyHeaders: readonly string[] = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'cookie'];
/** Google reads each of them with a `$` before it, too. */
const keyParameters = new Set(['key', 'api_key', 'access_token', 'oauth_token']);

/** A path without the parameters of its query that hold a key. */
export function withoutKey(url: string): string {
  const at = url.indexOf('?');
  if (at === -1) return url;
  const parts = url.slice(at + 1).split('&');
  const rest = parts.filter((part) => !keyParameters.has(readParameterName(part)));
  if (rest.length === parts.length) return url;
  return rest.length === 0 ? url.slice(0, at) : `${url.slice(0, at)}?${rest.join('&')}`;
}

/** The keys in the query of a path. */
export function listKeyParameters(url: string): readonly string[] {
  const at = url.indexOf('?');
  if (at === -1) return [];
  const parts = url.slice(at + 1).split('&');
  return parts.filter((part) => keyParameters.has(readParameterName(part))).map(readParameterValue);
}

function readParameterValue(part: string): string {
  const value = part.slice(part.indexOf('=') + 1).replaceAll('+', ' ');
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function readParameterName(part: string): string {
  const name = part.split('=', 1)[0]!.replaceAll('+', ' ');
  try {
    return decodeURIComponent(name)
      .trim()
      .toLowerCase()
      .replace(/^\$\.?/, '');
  } catch {
    return name.toLowerCase();
  }
}
