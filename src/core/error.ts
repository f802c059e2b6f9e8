/** A broken world: a setting that cannot be, a file that cannot be read, a Node that is too old. */
export class SwitchgearError extends Error {
  /** API, snake case, never renamed. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SwitchgearError';
    this.code = code;
  }
}
