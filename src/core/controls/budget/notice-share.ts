/** The shares of a limit at which a person gets a notice. */

import type { Gauge } from '../../control.ts';

/** Share of a limit of money, tokens or model calls at which a second notice is given, if the first one is below. */
export const highNoticeShare = 0.95;

/**
 * The highest share of a limit that is reached: the first one, or 95 % before the limit itself if there is a second
 * notice. Undefined below the first one.
 */
export function findNoticeShare(
  { actual, limit }: Pick<Gauge, 'actual' | 'limit'>,
  first: number,
  hasSecond: boolean,
): number | undefined {
  const isHigh = hasSecond && first < highNoticeShare && actual < limit && actual >= limit * highNoticeShare;
  if (isHigh) return highNoticeShare;
  return actual >= limit * first ? first : undefined;
}
