/** Errors that a provider reports inside a stream, whose answer has the status 200. */

/** The statuses that the APIs document for types of errors; errors of the request do not count for the model. */
const documentedStatuses: readonly (readonly [type: RegExp, status: number])[] = [
  [/invalid|not_found|permission|authentication|context_length/i, 400],
  [/rate_limit|exhausted|quota/i, 429],
  [/overloaded/i, 529],
  [/unavailable/i, 503],
];

/** The error of a type, with the status that it has as an answer. */
export function readStreamError(type: string): object {
  const [, status] = documentedStatuses.find(([pattern]) => pattern.test(type)) ?? [undefined, 500];
  return { name: 'UpstreamError', status, message: type };
}
