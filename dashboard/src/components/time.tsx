/** Times that count by themselves, once a second; only their text is drawn again. */

import { useComputed } from '@preact/signals';
import { formatAgo, formatSpan } from '../logic/format.ts';
import { nowMs, storeNowMs } from '../state.ts';

/** A moment of the past by the wall clock: `4 min ago`, with the full time as a tooltip. */
export function Ago({ wallMs }: { readonly wallMs: number }) {
  const text = useComputed(() => formatAgo(nowMs.value - wallMs));
  const moment = new Date(wallMs);
  return (
    <time dateTime={moment.toISOString()} title={moment.toLocaleString()}>
      {text}
    </time>
  );
}

/** The span since a moment of the wall clock: `12 s`. */
export function Since({ wallMs }: { readonly wallMs: number }) {
  return <>{useComputed(() => formatSpan(nowMs.value - wallMs))}</>;
}

/** The span until a time of the store: `4 min`. */
export function Until({ atMs }: { readonly atMs: number }) {
  return <>{useComputed(() => formatSpan(atMs - storeNowMs.value))}</>;
}
