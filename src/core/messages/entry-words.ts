/** Words of entries that the log and the commands share. */

import { askedToWait, handTrip } from '../controls/breaker/phases.ts';

/** Why a breaker opened, in words; `limit` is the number of failures that opens it. */
export function describeOpening(cause: string, limit?: number | string): string {
  switch (cause) {
    case 'failures':
      return limit === undefined ? 'it failed too often' : `it failed ${limit} time${Number(limit) === 1 ? '' : 's'}`;
    case 'a failed probe':
      return 'it failed again when it was tried';
    case 'the failure rate':
      return 'too large a share of its calls failed';
    case 'slow calls':
    case 'a slow probe':
      return 'it is too slow';
    case handTrip:
      return 'opened by hand';
    case askedToWait:
      return 'it asked to wait';
    default:
      return cause;
  }
}

/** The class of an error with its message, if the journal keeps it: `NetworkError: HTTP 503`. */
export function describeFailedCall({
  error,
  message,
}: {
  readonly error: string;
  readonly message?: string | undefined;
}): string {
  return message === undefined || message === '' ? error : `${error}: ${message}`;
}

export function describeMissingTask(name: string): string {
  return `${name} was called outside a task: no budget applies; put gear.task(…) around it`;
}
