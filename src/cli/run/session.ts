/** Runs a session on an open store: creates the gear and the screen, and reports lost earlier runs. */

import { unlimited } from '../../core/declare/setting.ts';
import { cleanLines, textOf } from '../../core/foreign-text.ts';
import { storeGraceMs, treePollMs } from '../../core/limits.ts';
import { toSnakeCase } from '../../core/names.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Switchgear, Task, TaskOptions } from '../../guard/api.ts';
import { createSwitchgear } from '../../guard/create-switchgear.ts';
import { runtimeOf, setMetricLayer } from '../../guard/internal.ts';
import { systemClock, wait } from '../../platform/system-clock.ts';
import { backgroundOf, type CheckedPolicy, markChecked } from '../../policy/check/check-policy.ts';
import type { Store } from '../../ports/store.ts';
import { priceBook } from '../../prices/index.ts';
import { closeLostRuns } from '../../supervisor/lost-runs.ts';
import type { Terminal } from '../command.ts';
import { identifySettings, storeSettings } from '../policy/stored-settings.ts';
import { type RunStart, runAttempts } from './attempts.ts';
import type { RunCommandContext } from './context.ts';
import { limitFlags } from './halt-report.ts';
import type { RunCommandOptions } from './options.ts';
import { createScreen } from './screen.ts';
import { createStatusLine } from './status-line.ts';

export interface RunSessionOptions {
  readonly store: Store;
  readonly options: RunCommandOptions;
  readonly terminal: Terminal;
  readonly policy: CheckedPolicy;
  readonly agent: string;
  readonly session: string;
  /** Returns the first attempt; called when the gear exists. */
  begin(context: RunCommandContext): RunStart;
}

/** Runs the session to its end and returns the exit code. */
export async function runSession(sessionOptions: RunSessionOptions): Promise<number> {
  const { store, options, terminal, agent, session } = sessionOptions;
  const gear = createSwitchgear({
    agent,
    session,
    store,
    prices: priceBook(),
    policy: applyRunLimits(sessionOptions.policy, options),
    env: {},
    project: backgroundOf(sessionOptions.policy).project ?? terminal.cwd,
    mode: options.observe ? 'observe' : 'enforce',
    log: 'silent',
    // A call through the gateway can wait for a person.
    ...(options.gateway && { approver: (await import('../../approvers/card-approver.ts')).cardApprover({ store }) }),
  });
  setMetricLayer(runtimeOf(gear), 'run');
  let task: Task | undefined;
  const isSilent = options.quiet || options.json;
  const statusLine = createStatusLine(gear);
  const status = () => (task === undefined ? '' : statusLine.format(task));
  const { stdout, stderr } = process;
  stderr.on('error', () => undefined); // The reader of stderr is gone.
  const screen = createScreen({
    stdout,
    stderr,
    clock: systemClock,
    coloured: terminal.coloured,
    ...(isSilent ? {} : { status }),
  });
  const emit: RunCommandContext['emit'] = (kind, body) => {
    if (options.json) void screen.out(`${formatJsonLine({ kind, ...body })}\n`);
  };
  const setStatusTask = (running: Task | undefined) => {
    task = running;
  };
  gear.onEntry((entry) => emit('entry', entry));
  const { settings } = sessionOptions.policy;
  const policyId = identifySettings(settings);
  // Before anything can halt the run; writes of a store keep their order.
  const stored = policyId === '' ? undefined : storeSettings(store, policyId, settings);
  const context: RunCommandContext = {
    policyId,
    options,
    terminal,
    gear,
    store,
    screen,
    clock: systemClock,
    emit,
    setStatusTask,
    ...(options.gateway && { openGateway: await prepareGateway(gear, sessionOptions) }),
  };
  if (gear.settings.task.maxToolCalls === unlimited) screen.printLine(callsOffLine);
  const freshTask: TaskOptions = { parent: null, limits: options.limits };
  try {
    for (const { evidence } of await closeLostRuns(store))
      screen.printLine(`switchgear: an earlier run was lost: ${evidence[0]}`);
    return await runAttempts(context, sessionOptions.begin(context), freshTask);
  } finally {
    screen.close();
    await stored;
    await settleStore(store);
    gear.dispose();
  }
}

/** Loads the gateway of `--gateway`, which other runs do not need. */
async function prepareGateway(gear: Switchgear, { options, policy, terminal }: RunSessionOptions) {
  const { openRunGateway } = await import('../gateway/run-gateway.ts');
  const { parseUpstreams } = await import('../gateway/upstream-urls.ts');
  const upstreams = parseUpstreams('--upstream', options.upstream);
  const isLimited = (options.limits.maxSpendCents ?? options.limits.maxTokens) !== undefined;
  return (command: readonly string[]) => openRunGateway(command, { gear, policy, terminal, upstreams, isLimited });
}

const callsOffLine =
  'switchgear: the limit of tool calls is off (task.max_tool_calls = "none"); delegated work and money have limits';

/** Waits until the store has the end of the run; a store that is briefly away gets some seconds to answer again. */
async function settleStore({ shared }: Store): Promise<void> {
  await shared?.settled();
  const untilMs = systemClock.nowMs() + storeGraceMs;
  while (shared?.health.state === 'degraded' && systemClock.nowMs() < untilMs) {
    await wait(systemClock, treePollMs);
    await shared.settled();
  }
}

/**
 * Adds the limits of the command line to the policy; they also apply to subagents. The journal level becomes `all`,
 * as a replay needs, unless the policy sets one.
 */
function applyRunLimits(policy: CheckedPolicy, { limits }: RunCommandOptions): CheckedPolicy {
  const { settings } = policy;
  const provenance = new Map(policy.provenance);
  for (const [name, value] of Object.entries(limits)) {
    const source = `option ${limitFlags[name as keyof TaskSettings] ?? name}` as const;
    provenance.set(`task.${toSnakeCase(name)}`, { value, source });
  }
  const isExplicit = (provenance.get('journal.level')?.source ?? 'default') !== 'default';
  const journal = isExplicit ? settings.journal : ({ ...settings.journal, level: 'all' } as const);
  return markChecked({ ...settings, journal, task: { ...settings.task, ...limits } }, provenance);
}

/** Formats a line of `--json`. A field that JSON cannot write, such as an input of too many levels, becomes a text. */
function formatJsonLine(body: object): string {
  return cleanLines(stringify(body) ?? JSON.stringify(mapFields(body)));
}

function mapFields(body: object): object {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, stringify(value) === undefined ? textOf(value) : value]),
  );
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return undefined;
  }
}
