/** Thrown for an environment that cannot work: an invalid setting, an unreadable file, an old Node version. */
export class SwitchgearError extends Error {
  /** Part of the API: snake case, never renamed. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SwitchgearError';
    this.code = code;
  }
}
