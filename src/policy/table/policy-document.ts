/** The type of a policy document, derived from the settings and their table: an unknown key does not compile. */

import type { McpSettings, ToolGlobs } from '../../core/declare/mcp-settings.ts';
import type { Snake } from '../../core/declare/setting.ts';
import type { UpstreamSettings } from '../../core/declare/upstream-settings.ts';
import type { WebhookSettings } from '../../core/declare/webhook-settings.ts';
import type { StreamMapping } from '../../core/event-mapping.ts';
import type {
  AlertSettings,
  BreakerSettings,
  JointBudget,
  RuleText,
  Settings,
  TaskSettings,
} from '../../core/settings.ts';
import type { PresetName } from './presets.ts';

/** Shorter names of breaker settings that documents may use, in snake and camel case, with the setting they mean. */
export const breakerAliases = {
  monitor_window: 'monitorWindowSecs',
  monitorWindow: 'monitorWindowSecs',
  recovery_timeout: 'recoveryTimeoutSecs',
  recoveryTimeout: 'recoveryTimeoutSecs',
  reset_timeout_seconds: 'recoveryTimeoutSecs',
  resetTimeoutSeconds: 'recoveryTimeoutSecs',
  timeout: 'timeoutSecs',
  health_check_interval: 'healthCheckIntervalSecs',
  healthCheckInterval: 'healthCheckIntervalSecs',
} as const satisfies Readonly<Record<string, keyof BreakerSettings>>;

/** A value as a document writes it; a setting that may be absent may also be "none". */
type Written<T, K extends keyof T> =
  | Exclude<T[K], undefined>
  | (undefined extends T[K] ? 'none' : K extends 'maxToolCalls' ? 'none' : T extends AlertSettings ? 'none' : never)
  | undefined;

/** The fields of a section, under their names in TypeScript or in files. */
type Fields<T> = { readonly [K in keyof T]?: Written<T, K> } & {
  readonly [K in keyof T & string as Snake<K>]?: Written<T, K>;
};

type Aliases = typeof breakerAliases;

/** Settings of a breaker, with the shorter names that files may use. */
export type BreakerDocument = Fields<BreakerSettings> & {
  readonly [A in keyof Aliases]?: Written<BreakerSettings, Aliases[A] & keyof BreakerSettings>;
};

/** A joint budget; a window is optional. */
export type BudgetDocument = Omit<JointBudget, 'windowSecs'> & Fields<Pick<JointBudget, 'windowSecs'>>;

/** A webhook; format and events have defaults. */
export type WebhookDocument = Fields<WebhookSettings> & Pick<WebhookSettings, 'name'>;

/** An upstream; all but name and address have defaults. */
export type UpstreamDocument = Fields<UpstreamSettings> & Pick<UpstreamSettings, 'name' | 'url'>;

/** A rule: a table, or a line `condition|action|"reason"`. A rule without a target applies to every tool. */
export type RuleDocument = string | (Omit<RuleText, 'target'> & Partial<Pick<RuleText, 'target'>>);

/** Settings of one agent. */
export interface AgentDocument {
  readonly circuitBreaker?: BreakerDocument;
  readonly circuit_breaker?: BreakerDocument;
  readonly task?: Fields<TaskSettings>;
}

/** The sections with nothing but fields. */
type PlainSections = Omit<
  Settings,
  | 'mode'
  | 'sameErrorTools'
  | 'selfProtection'
  | 'circuitBreaker'
  | 'tools'
  | 'agents'
  | 'budgets'
  | 'rules'
  | 'mappings'
  | 'webhooks'
  | 'upstreams'
  | 'mcp'
>;

/** Globs for every server, or by server. */
type GlobsDocument = readonly string[] | ToolGlobs;

/** How tools of MCP servers are listed and called. */
export type McpDocument = Fields<Omit<McpSettings, 'tools'>> & {
  readonly tools?: { readonly allow?: GlobsDocument; readonly deny?: GlobsDocument } | undefined;
};

/** A policy as it is written in a file or in code: every part is optional, names are in camel or in snake case. */
export type PolicyDocument = {
  /** The schema that editors check a file with; ignored. */
  readonly $schema?: string;
  /** The preset that the document starts from. */
  readonly preset?: PresetName;
  readonly circuitBreaker?: BreakerDocument | undefined;
  readonly circuit_breaker?: BreakerDocument | undefined;
  /** Breaker settings of tools, by name; a name may contain `*`. */
  readonly tools?: Readonly<Record<string, BreakerDocument & { readonly preset?: PresetName }>> | undefined;
  /** Settings of agents, by name. */
  readonly agents?: Readonly<Record<string, AgentDocument>> | undefined;
  readonly rules?: readonly RuleDocument[] | undefined;
  /** Budgets that several tasks share. */
  readonly budgets?: readonly BudgetDocument[] | undefined;
  /** How `switchgear run` reads the output of other programs, by their names. */
  readonly mappings?: Readonly<Record<string, StreamMapping>> | undefined;
  /** Where `switchgear serve` sends alerts, halts and questions. */
  readonly webhooks?: readonly WebhookDocument[] | undefined;
  /** The hosts that `switchgear gateway` reaches. */
  readonly upstreams?: readonly UpstreamDocument[] | undefined;
  /** How `switchgear mcp` treats the tools of a server. */
  readonly mcp?: McpDocument | undefined;
} & Fields<Pick<Settings, 'mode' | 'sameErrorTools' | 'selfProtection'>> & {
    readonly [K in keyof PlainSections]?: Fields<PlainSections[K]> | undefined;
  } & { readonly [K in keyof PlainSections & string as Snake<K>]?: Fields<PlainSections[K]> | undefined };
