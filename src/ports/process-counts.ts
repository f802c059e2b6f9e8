/** What a process counts for metrics, as plain numbers that only grow; a call costs an increment. */

import { cleanLine, sliceWhole } from '../core/foreign-text.ts';

/** Names of breakers and codes that get a label of their own. */
export const metricNamesMax = 200;

const metricLabelMax = 120;

/** The layers that decide: code with a gear, `switchgear run`, hooks, chains, the MCP proxy, the gateway. */
export const metricLayers = ['library', 'run', 'hook', 'chain', 'mcp', 'gateway'] as const;

/** A layer that decides. */
export type MetricLayer = (typeof metricLayers)[number];

/** The scopes that money and tokens are counted in: every task, and each scope of a budget of the policy. */
export const spendScopes = ['task', 'session', 'agent', 'project', 'global', 'key', 'model'] as const;

/** A scope that money and tokens are counted in. */
export type SpendScope = (typeof spendScopes)[number];

/** The decisions of one layer, by outcome. */
export interface DecisionCounts {
  allow: number;
  deny: number;
  ask: number;
  wait: number;
  halt: number;
  /** Decisions while the store did not answer; each is counted by its outcome, too. */
  degraded: number;
}

/** The calls of one breaker name by outcome with their durations, the calls that it refused, and its changes. */
export interface BreakerCounts {
  successes: number;
  failures: number;
  neutrals: number;
  successMs: number;
  failureMs: number;
  neutralMs: number;
  refusals: number;
  opened: number;
  halfOpened: number;
  closed: number;
}

/** What was spent in one scope. */
export interface SpendCounts {
  micros: number;
  tokens: number;
}

/** Creates counts of decisions at 0. */
export function zeroDecisions(): DecisionCounts {
  return { allow: 0, deny: 0, ask: 0, wait: 0, halt: 0, degraded: 0 };
}

/** Creates counts of a breaker at 0. */
export function zeroBreaker(): BreakerCounts {
  return {
    ...{ successes: 0, failures: 0, neutrals: 0, successMs: 0, failureMs: 0, neutralMs: 0 },
    ...{ refusals: 0, opened: 0, halfOpened: 0, closed: 0 },
  };
}

/** Creates counts of spending at 0. */
export function zeroSpend(): SpendCounts {
  return { micros: 0, tokens: 0 };
}

/** The value of a label for a foreign name: one clean line of at most 120 characters. */
export function metricLabelOf(name: string): string {
  return cleanLine(sliceWhole(name, metricLabelMax));
}
