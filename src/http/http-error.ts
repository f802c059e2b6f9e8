/** A request that is refused before it reaches its route. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  /** Seconds after which the client may try again. */
  readonly retryAfterSecs: number | undefined;

  constructor(status: number, code: string, message: string, retryAfterSecs?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterSecs = retryAfterSecs;
  }
}
