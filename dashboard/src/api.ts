/** Requests to the API of this server, with its cookie. */

/** An error that the API answered, or `unreachable` if no answer came. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The message of a request that no answer came to. */
export const unreachable = 'The server does not answer.';

/** Called when the API says that the session is over. */
export let onSignedOut: () => void = () => undefined;

/** Sets what happens when a session is over. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/** The key of this page, which only its own origin can read: the cookie alone is not enough. */
let pageKey = '';

/** Sets the key that the server gave this page with its session. */
export function setPageKey(key: string): void {
  pageKey = key;
}

/** The headers that pages of other origins cannot send. */
export function makeOwnHeaders(): Readonly<Record<string, string>> {
  return { 'x-switchgear': '1', 'x-switchgear-page': pageKey };
}

/** Reads a path of the API. */
export function apiGet<T>(path: string): Promise<T> {
  return request<T>('GET', path);
}

/** Reads a path of the API as a file; it takes as long as it takes. */
export async function apiFile(path: string): Promise<Blob> {
  const response = await fetch(path, { headers: makeOwnHeaders() }).catch(() => undefined);
  if (response === undefined) throw new ApiError(0, 'unreachable', unreachable);
  if (!response.ok) throw await readError(response, path);
  return response.blob();
}

/** Writes to a path of the API. */
export function apiPost<T>(path: string, body: unknown = {}): Promise<T> {
  return request<T>('POST', path, body);
}

/** Ends what a path of the API names. */
export function apiDelete<T>(path: string): Promise<T> {
  return request<T>('DELETE', path);
}

/** How long an answer may take. */
const timeoutMs = 20_000;

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: { ...makeOwnHeaders(), ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch {
    throw new ApiError(0, 'unreachable', unreachable);
  }
  if (!response.ok) throw await readError(response, path);
  return (await response.json().catch(() => undefined)) as T;
}

async function readError(response: Response, path: string): Promise<ApiError> {
  const value: unknown = await response.json().catch(() => undefined);
  const { error } = (value ?? {}) as { error?: { code?: string; message?: string } };
  if (response.status === 401 && path !== '/api/session') onSignedOut();
  return new ApiError(response.status, error?.code ?? 'error', error?.message ?? `Status ${response.status}`);
}

/** The message of anything thrown, for a person. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
