/** Named sets of settings: the values of each seed document, and of the services that agents call most. */

import { breakerFields } from '../../core/controls/breaker/fields.ts';
import type { Table } from '../../core/plain-copy.ts';

const cuedeck = {
  failure_threshold: 5,
  recovery_timeout_secs: 30,
  success_threshold: 1,
  graceful_degradation: false,
  count_errors: ['ToolError', 'NetworkError', 'RateLimitExceeded'],
  ignore_errors: ['InvalidArguments', 'FileNotFound'],
};

type Preset = { readonly circuit_breaker?: Readonly<Table> } & Readonly<Table>;

const namedPresets = {
  default: { circuit_breaker: defaultsOfBreaker() },
  praison: {
    circuit_breaker: {
      failure_threshold: 5,
      recovery_timeout_secs: 60,
      success_threshold: 2,
      timeout_secs: 30,
      monitor_window_secs: 300,
      enable_health_check: true,
      health_check_interval_secs: 30,
      graceful_degradation: true,
      // PraisonAI exempts denials only, and recognizes them by their flags, not by their names.
      ignore_errors: [],
    },
  },
  cuedeck: { circuit_breaker: cuedeck },
  'cuedeck-watcher': { circuit_breaker: { ...cuedeck, recovery: 'manual' } },
  nabaos: {
    rule_settings: { on_missing: 'fire', lookup: ['outputs'], throttle: 'skip' },
    approval: { timeout_secs: 120 },
  },
  delegation: {
    delegation: {
      max_failures: 2,
      on_trip: 'halt',
      on_failure: 'retry',
      tools: true,
      phrases: true,
      phrase_match: 'anywhere',
    },
  },
  blackbox: {
    task: { max_tool_calls: 50, max_spend_cents: 5000, max_duration_secs: 1800, max_idle_secs: 300 },
    loop: { similarity_jaccard_threshold: 0.95, window_size: 3, token_cap: 512 },
  },
  // Suspects almost no good run.
  cautious: {
    loop: {
      turns: 16,
      note_points: 14,
      card_points: 28,
      repeat_points: 1,
      cycle_points: 1,
      near_error_points: 7,
    },
  },
  // Halts more bad runs, and some good ones: for unattended agents.
  strict: {
    circuit_breaker: { failure_threshold: 3 },
    task: { max_tool_calls: 25 },
    loop: {
      row_across_calls: true,
      window_size: 2,
      turns: 12,
      note_points: 8,
      card_points: 16,
      repeats: 3,
      near_threshold: 0.45,
      words_alone: true,
      repeat_points: 4,
      cycle_points: 5,
      other_error_points: 3,
      same_answer_points: 8,
      near_call_points: 3,
      near_error_points: 8,
    },
  },
  // Runs of coding agents make hundreds of calls and take hours.
  coding: {
    circuit_breaker: { timeout_secs: 600 },
    task: { max_tool_calls: 500, max_tree_calls: 2000, max_duration_secs: 14_400, max_idle_secs: 900 },
  },
  // Model responses may take minutes; their tasks have limits of their own.
  llm: {
    circuit_breaker: { failure_threshold: 3, recovery_timeout_secs: 30, success_threshold: 2, timeout_secs: 'none' },
  },
  memory: { circuit_breaker: { failure_threshold: 2, recovery_timeout_secs: 60, success_threshold: 2 } },
  mcp: {
    circuit_breaker: {
      failure_threshold: 3,
      recovery_timeout_secs: 45,
      success_threshold: 2,
      health_check_interval_secs: 20,
    },
  },
} as const satisfies Readonly<Record<string, Preset>>;

/** The name of a preset. */
export type PresetName = keyof typeof namedPresets;

/** The settings of each preset, written as a policy document. A preset never switches a control off. */
export const presets: Readonly<Record<string, Preset>> = namedPresets;

/** The preset implied by a spelling: only the CueDeck document writes `reset_timeout_seconds`. */
export const presetBySpelling: Readonly<Record<string, string>> = { reset_timeout_seconds: 'cuedeck' };

function defaultsOfBreaker(): Table {
  const table: Table = {};
  for (const [name, setting] of Object.entries(breakerFields)) table[name] = setting.default ?? 'none';
  return table;
}
