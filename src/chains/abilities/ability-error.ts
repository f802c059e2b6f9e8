/** How an ability says that it failed, in the words that breakers and policies read. */

/** What is known of a failure beside its sentence. */
export interface AbilityFacts {
  /** `ToolError` or, with a status, `HttpError` unless said. `InvalidArguments` and `PolicyDenied` are not counted. */
  readonly name?: 'ToolError' | 'HttpError' | 'NetworkError' | 'InvalidArguments' | 'PolicyDenied';
  /** The code of the system or protocol, where there is one. */
  readonly code?: string | number;
  /** The status of an HTTP answer. */
  readonly status?: number;
  /** The wait that the other side asked for. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** An ability ran, or could not, and what was asked of it did not happen. */
export class AbilityError extends Error {
  readonly code?: string | number;
  readonly status?: number;
  readonly retryAfterMs?: number;

  constructor(message: string, { name, code, status, retryAfterMs, cause }: AbilityFacts = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.name = name ?? (status === undefined ? 'ToolError' : 'HttpError');
    if (code !== undefined) this.code = code;
    if (status !== undefined) this.status = status;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}
