/** The addresses of the views: `#/VIEW`, `#/VIEW/PARAMETER`, each with an optional query. */

/** The views of the page, in the order of the navigation. */
export const viewIds = ['inbox', 'history', 'standing', 'breakers', 'tasks', 'chains', 'store'] as const;

/** The id of a view. */
export type ViewId = (typeof viewIds)[number];

/** An address inside the page. */
export interface PageRoute {
  readonly view: ViewId;
  /** What the view shows in detail: a card, a breaker, a task, a run. */
  readonly param?: string;
  readonly query: Readonly<Record<string, string>>;
}

/** Reads the fragment of an address; an unknown one is the inbox. */
export function parseRoute(hash: string): PageRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [first = '', ...rest] = path.split('/');
  const view = viewIds.find((id) => id === first);
  if (view === undefined) return { view: 'inbox', query: {} };
  const param = decode(rest.join('/'));
  return { view, ...(param !== '' && { param }), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** Makes the fragment of an address. */
export function formatRoute(view: ViewId, param?: string, query: Readonly<Record<string, string>> = {}): string {
  const place = param === undefined ? view : `${view}/${encodePart(param)}`;
  const text = new URLSearchParams(query).toString();
  return `#/${place}${text === '' ? '' : `?${text}`}`;
}

/** The token of the address that `switchgear serve` prints, or undefined. */
export function readTokenFragment(hash: string): string | undefined {
  const [, token] = /^#token=(.+)$/.exec(hash) ?? [];
  return token === undefined ? undefined : decode(token);
}

/** A name as one part of an address; half a character, which no address can have, becomes a replacement character. */
export function encodePart(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
