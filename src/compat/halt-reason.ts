/** The five halt reasons of Black Box, read from refusals. */

import type { Refusal } from '../core/refusal.ts';

/** Why a task must stop. */
export type HaltReason =
  | { readonly kind: 'ToolCallLimit'; readonly actual: number; readonly limit: number }
  | { readonly kind: 'TokenSpendLimit'; readonly actualCents: number; readonly limitCents: number }
  | { readonly kind: 'DurationLimit'; readonly actualSecs: number; readonly limitSecs: number }
  | { readonly kind: 'IdleTimeout'; readonly idleSecs: number; readonly limitSecs: number }
  | {
      readonly kind: 'OutputLoop';
      readonly windowSize: number;
      /** The smallest similarity of two outputs in a row. */
      readonly similarityJaccard: number;
      readonly threshold: number;
    };

const slugs: Readonly<Record<HaltReason['kind'], Refusal['code']>> = {
  ToolCallLimit: 'tool_call_limit',
  TokenSpendLimit: 'token_spend_limit',
  DurationLimit: 'duration_limit',
  IdleTimeout: 'idle_timeout',
  OutputLoop: 'output_loop',
};

/** Converts a refusal to one of the five reasons; null for any other refusal. */
export function haltReasonOf({ code, counters }: Refusal): HaltReason | null {
  const [actual, limit] = [Number(counters.actual), Number(counters.limit)];
  switch (code) {
    case 'tool_call_limit':
      return { kind: 'ToolCallLimit', actual, limit };
    case 'token_spend_limit':
      return { kind: 'TokenSpendLimit', actualCents: actual, limitCents: limit };
    case 'duration_limit':
      return { kind: 'DurationLimit', actualSecs: actual, limitSecs: limit };
    case 'idle_timeout':
      return { kind: 'IdleTimeout', idleSecs: actual, limitSecs: limit };
    case 'output_loop': {
      const [similarityJaccard, threshold] = [Number(counters.similarity), Number(counters.threshold)];
      return { kind: 'OutputLoop', windowSize: limit, similarityJaccard, threshold };
    }
    default:
      return null;
  }
}

/** The machine-readable name of a reason; empty for any other value. */
export function haltSlug({ kind }: HaltReason): string {
  return Object.hasOwn(slugs, kind) ? slugs[kind] : '';
}
