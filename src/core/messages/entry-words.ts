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

/**
 * The status of an error, or else its class, with its message if the journal keeps it: `status 503: try later`,
 * `NetworkError: connect ECONNREFUSED`.
 */
export function describeFailedCall({
  error,
  status,
  message,
}: {
  readonly error: string;
  readonly status?: number | undefined;
  readonly message?: string | undefined;
}): string {
  // The class of every status from 500 on is that of a broken network.
  const cause = status === undefined ? error : `status ${status}`;
  const isSaid = message === undefined || message === '' || message === cause || message === `HTTP ${status}`;
  return isSaid ? cause : `${cause}: ${message}`;
}

export function describeMissingTask(name: string): string {
  return `${name} was called outside a task: no budget applies; put gear.task(…) around it`;
}
