/** The settings of `switchgear gateway`. */

import { choice, type FieldsOf, flag, texts, wholeNumber } from './setting.ts';

/** How `switchgear gateway` treats model calls. */
export interface GatewaySettings {
  /** Whether a hint about a loop is added behind the newest message of a request. @default true */
  readonly hints: boolean;
  /** Whether a stream that its client drops is charged by an estimate, or read to its end. @default 'estimate' */
  readonly onDrop: 'estimate' | 'drain';
  /** Whether the longest answer is lowered to what the budgets have left for streams, too. @default 'json' */
  readonly clamp: 'json' | 'always';
  /** Cents of each task's limit that are kept for one closing answer. @default undefined (none) */
  readonly closingReserveCents?: number | undefined;
  /** Paths that spend and cannot be metered, allowed despite a limit of money. @default [] */
  readonly allowUnpriced: readonly string[];
}

export const gatewayFields = {
  hints: flag('Whether a hint about a loop is added behind the newest message of a request.', true, true),
  on_drop: choice(
    'A stream whose client is gone: `estimate` ends it and charges an estimate, `drain` reads it to its end.',
    'any',
    'estimate',
    'drain',
  ),
  clamp: choice(
    'Where the longest answer is lowered to what the budgets have left: `json` only where an answer cannot be cut.',
    'later',
    'json',
    'always',
  ),
  closing_reserve_cents: wholeNumber(
    "The cents of each task's limit that are kept for one closing answer without tools.",
    undefined,
    'any',
  ),
  allow_unpriced: texts(
    'Paths that spend and cannot be metered, allowed despite a limit of money. `*` = any characters.',
    [],
    'fewer',
  ),
} as const satisfies FieldsOf<GatewaySettings>;
