/** The status of every error that a request is answered with. */

import { SwitchgearError } from '../../core/error.ts';
import { HttpError } from '../../http/http-error.ts';

const statuses: Readonly<Record<string, number>> = {
  invalid_argument: 400,
  operator_required: 403,
  not_found: 404,
  unknown_run: 404,
  not_answered: 409,
  needs_terminal: 409,
  run_over: 409,
  not_in_doubt: 409,
  orders_full: 409,
  token_exists: 409,
};

/** The error as it is answered. An unknown error tells nothing of its text. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (!(error instanceof SwitchgearError)) return new HttpError(500, 'internal_error', 'internal error');
  const { code, message } = error;
  return new HttpError(statuses[code] ?? (code.startsWith('store_') ? 503 : 400), code, message);
}
