/** The settings that belong to no control: mode, approval, prices, journal, alerts, abilities, joint budgets. */

import { budgetLimitMax, budgetWindowMaxSecs } from '../limits.ts';
import type {
  AlertSettings,
  ApprovalSettings,
  JointBudget,
  JournalSettings,
  PriceSettings,
  Settings,
} from '../settings.ts';
import type { AbilitySettings } from './ability-settings.ts';
import { gatewayFields } from './gateway-settings.ts';
import type { McpSettings } from './mcp-settings.ts';
import { choice, type FieldsOf, flag, secs, share, texts, unlimited, wholeNumber } from './setting.ts';

/** Settings outside any section. The default tools are shells of known agents, and tools whose failures are data. */
export const topFields = {
  mode: choice('`observe` counts and reports, and refuses nothing.', 'earlier', 'enforce', 'observe'),
  same_error_tools: texts(
    'Tools whose failures are data (shells, SQL, tests): only the same error in a row counts. `*` = any characters.',
    [
      'Bash',
      'bash',
      'PowerShell',
      'shell',
      'shell.execute',
      'local_shell',
      'exec_command',
      'run_shell_command',
      'run_command',
      'execute_command',
      'terminal',
      '*_sql',
      'sql_*',
      'python',
      'run_python',
      'run_code',
      'execute_code',
      'code_interpreter',
      'run_test*',
      '*browser_*',
    ],
    'fewer',
  ),
  self_protection: flag(
    'Whether calls that would change the store, policy or hooks, or answer in the inbox, are asked about or refused.',
    true,
    true,
  ),
} as const satisfies FieldsOf<Pick<Settings, 'mode' | 'sameErrorTools' | 'selfProtection'>>;

/** The fields of a joint budget. All but the window are required. */
export const budgetFields = {
  scope: choice(
    'The tasks of a session, an agent in a project, a project or the store; the calls of a gateway key or a model.',
    'default',
    'session',
    'agent',
    'project',
    'global',
    'key',
    'model',
  ),
  unit: choice(
    'The unit: admitted tool calls or model calls, tokens, or money in cents.',
    'default',
    'calls',
    'model_calls',
    'tokens',
    'spend_cents',
  ),
  limit: wholeNumber('The limit, in the unit.', 1, 'lower', { max: budgetLimitMax }),
  window_secs: secs(
    'The length of a rolling window; without one the limit is for the life of the scope.',
    undefined,
    'higher',
    {
      max: budgetWindowMaxSecs,
    },
  ),
  mode: choice('`observe` counts and reports, and refuses nothing.', 'earlier', 'enforce', 'observe'),
} as const satisfies FieldsOf<JointBudget>;

const approval = {
  timeout_secs: secs('Time a person has to answer; without an answer the action is refused.', 120, 'any'),
  redact: texts(
    'Names of arguments whose values a question masks, beside those that look like secrets. `*` = any characters.',
    [],
    'fewer',
  ),
  unattended: flag(
    'Whether commands that answer may run without a terminal while an agent runs. Needs a trusted policy.',
    false,
    false,
  ),
} as const satisfies FieldsOf<ApprovalSettings>;

const prices = {
  on_unknown_price: choice(
    "Count the dearest price of the model's family, halt, or rely on `task.max_tokens`, which must then be set.",
    ['halt', 'assume_dearest', 'token_cap_only'],
    'assume_dearest',
    'halt',
    'token_cap_only',
  ),
  free: texts('Models that cost nothing, by name, such as `llama*`. `*` = any characters.', [], 'fewer'),
} as const satisfies FieldsOf<PriceSettings>;

const journal = {
  level: choice('`refusals` writes refusals and changes only; `all` writes every decision.', 'any', 'refusals', 'all'),
  content: choice(
    'How much of the arguments is kept: nothing, 200 characters without secrets, or up to 4,096 as they are.',
    'earlier',
    'none',
    'redacted',
    'full',
  ),
} as const satisfies FieldsOf<JournalSettings>;

/** An alert that is switched off has a threshold that nothing reaches. */
const canBeOff = { optional: true, none: unlimited };

const alerts = {
  trips_per_hour: wholeNumber('More trips of a breaker than this in an hour raise an alert.', 5, 'lower', canBeOff),
  failure_rate: share('A share of failed calls above this raises an alert.', 0.1, 'lower', canBeOff),
  time_in_open_secs: secs('A longer time in open than this raises an alert.', 300, 'lower', canBeOff),
  spend_share: share('A used share of a budget from this on raises a first alert.', 0.8, 'lower', canBeOff),
  spend_share_high: share('A used share of a budget from this on raises a second alert.', 0.95, 'lower', canBeOff),
  waiting_secs: secs('An agent that waits longer than this for a person raises an alert.', 900, 'lower', canBeOff),
  store_away_secs: secs('A store that is away longer than this raises an alert.', 60, 'lower', canBeOff),
  period_secs: secs('The shortest time between two alerts of one cause.', 3600, 'lower'),
} as const satisfies FieldsOf<AlertSettings>;

const abilities = {
  http: flag('Whether steps may use `http.get` and `http.post`.', false, false),
  http_hosts: texts(
    'Hosts that steps may reach; an empty list allows every public host and this machine. `*` = any characters; `http://` before a name allows plain HTTP.',
    [],
    'default',
  ),
  shell: flag('Whether steps may use `shell.execute`.', false, false),
} as const satisfies FieldsOf<AbilitySettings>;

const mcp = {
  tools: {
    doc: 'Tools that may be listed and called, as globs: a list for every server, or a table of lists by server.',
    kind: 'tools',
    stricter: 'fewer',
    default: {},
  },
  hide_open_tools: flag('Whether tools whose breaker is open are left out of lists.', false, 'any'),
  on_tool_change: choice(
    'A tool whose definition changed since it was first seen: `warn` opens a card, `refuse` also hides and refuses it.',
    'later',
    'warn',
    'refuse',
  ),
} as const satisfies FieldsOf<McpSettings>;

/** The sections of the parts around the controls. */
export const generalSections = [
  { name: 'approval', doc: 'How long a person has to answer a question, and what a question masks.', fields: approval },
  { name: 'prices', doc: 'The cost of a model call whose price is unknown.', fields: prices },
  { name: 'journal', doc: 'Which entries the journal keeps, and how much of the arguments.', fields: journal },
  {
    name: 'alerts',
    doc: 'The values above which an alert is raised, as a card of `switchgear serve`.',
    fields: alerts,
  },
  { name: 'abilities', doc: 'The built-in abilities that chain steps may use.', fields: abilities },
  { name: 'mcp', doc: 'How `switchgear mcp` treats the tools of a server.', fields: mcp },
  { name: 'gateway', doc: 'How `switchgear gateway` treats model calls.', fields: gatewayFields },
] as const;
