/** A counter against its limit: a bar, and the numbers as text. */

import { formatShort, formatUsage } from '../logic/format.ts';

interface MeterProps {
  /** What is counted; the accessible name. */
  readonly name: string;
  readonly used: number;
  readonly limit?: number | undefined;
  readonly unit?: string | undefined;
  /** Without the name beside the bar, for the cells of a table. */
  readonly isBare?: boolean;
  /** Large numbers in three digits; the whole ones are the title. */
  readonly isShort?: boolean;
}

export function Meter({ name, used, limit, unit, isBare = false, isShort = false }: MeterProps) {
  const text = formatUsage(used, limit, unit);
  const share = limit === undefined ? 0 : limit > 0 ? Math.min(1, used / limit) : 1;
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'good';
  return (
    <div class={`meter tone-${limit === undefined ? 'plain' : tone}`}>
      {!isBare && <span class="meter-name">{name}</span>}
      {limit !== undefined && (
        // biome-ignore lint/a11y/useSemanticElements: Browsers do not agree on how a meter element is styled.
        <span
          class="meter-bar"
          role="meter"
          aria-label={name}
          aria-valuemin={0}
          aria-valuemax={Math.max(limit, used)}
          aria-valuenow={used}
          aria-valuetext={text}
        >
          <span class="meter-fill" style={{ inlineSize: `${share * 100}%` }} />
        </span>
      )}
      {isShort && unit === undefined ? (
        <span class="meter-text" title={text}>
          {limit === undefined ? formatShort(used) : `${formatShort(used)} of ${formatShort(limit)}`}
        </span>
      ) : (
        <span class="meter-text">{text}</span>
      )}
    </div>
  );
}
