/** A run on an open store: the gear that judges it, the screen that shows it, and what became of earlier runs. */

import type { Task, TaskOptions } from '../../guard/api.ts';
import { createSwitchgear } from '../../guard/create-switchgear.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { type CheckedPolicy, checked } from '../../policy/check/check-policy.ts';
import type { Store } from '../../ports/store.ts';
import { priceBook } from '../../prices/index.ts';
import { closeLost } from '../../supervisor/lost-runs.ts';
import type { Terminal } from '../command.ts';
import { runUntilOver, type Start } from './attempts.ts';
import type { RunWorld } from './context.ts';
import type { RunCommandOptions } from './options.ts';
import { runScreen } from './screen.ts';
import { runTally } from './status-line.ts';

export interface SessionOptions {
  readonly store: Store;
  readonly options: RunCommandOptions;
  readonly terminal: Terminal;
  readonly policy: CheckedPolicy;
  readonly agent: string;
  readonly session: string;
  /** What to begin with, once there is a gear to ask. */
  begin(world: RunWorld): Start;
}

/** Runs it to its end, and gives the exit code. */
export async function runSession(sessionOptions: SessionOptions): Promise<number> {
  const { store, options, terminal, agent, session } = sessionOptions;
  const gear = createSwitchgear({
    agent,
    session,
    store,
    prices: priceBook(),
    policy: policyFor(sessionOptions.policy, options),
    env: {},
    project: terminal.cwd,
    mode: options.observe ? 'observe' : 'enforce',
    log: 'silent',
  });
  let task: Task | undefined;
  const isSilent = options.quiet || options.json;
  const tally = runTally(gear);
  const status = () => (task === undefined ? '' : tally.line(task));
  const { stdout, stderr } = process;
  stderr.on('error', () => undefined); // Nobody is left who could be told.
  const screen = runScreen({ stdout, stderr, clock: systemClock, ...(isSilent ? {} : { status }) });
  const emit: RunWorld['emit'] = (kind, body) => {
    if (options.json) void screen.out(`${JSON.stringify({ kind, ...body })}\n`);
  };
  const follow = (next: Task | undefined) => {
    task = next;
  };
  gear.on((entry) => emit('entry', entry));
  const world: RunWorld = { options, terminal, gear, store, screen, clock: systemClock, emit, follow };
  const fresh: TaskOptions = { parent: null, limits: options.limits };
  try {
    for (const { evidence } of await closeLost(store))
      screen.say(`switchgear: an earlier run was lost: ${evidence[0]}`);
    return await runUntilOver(world, sessionOptions.begin(world), fresh);
  } finally {
    screen.close();
    await store.shared?.settled();
    gear.dispose();
  }
}

/**
 * The policy with the limits of the command line, which hold for subagents, too. The command keeps everything that
 * replay needs, unless somebody said otherwise.
 */
function policyFor({ settings, provenance }: CheckedPolicy, { limits }: RunCommandOptions): CheckedPolicy {
  const isSaid = (provenance.get('journal.level')?.source ?? 'default') !== 'default';
  const journal = isSaid ? settings.journal : ({ ...settings.journal, level: 'all' } as const);
  return checked({ ...settings, journal, task: { ...settings.task, ...limits } }, provenance);
}
