/** The command `switchgear run`: runs any agent command as a task. The engine loads while the agent starts. */

import { SwitchgearError } from '../../core/error.ts';
import { findPolicyFiles } from '../../platform/policy-files.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import type { EarlierSettings } from '../../policy/file/written-policy.ts';
import type { Store } from '../../ports/store.ts';
import { memoryStore } from '../../stores/memory.ts';
import { isBelowGuardedAgent } from '../../supervisor/guarded-agents.ts';
import { keepHeapSmall } from '../../supervisor/small-heap.ts';
import type { Command, Terminal } from '../command.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { endOnError, findAgentName, launch } from './launch.ts';
import { parseRunOptions, type RunCommandOptions, withMapping } from './options.ts';

export const command: Command = {
  usage: ['run [options] -- COMMAND …       run an agent, and end it at a limit or in a loop'],
  details: [
    '',
    'Limits of the task and of each subagent; the defaults come from the policy, or are:',
    '  --max-calls 50   --max-spend 50.00 (dollars)   --max-tokens N (none)   --max-duration 30m   --max-idle 5m',
    '  --max-tree-calls N (calls of all subagents and nested agents together; ten times --max-calls)',
    '  Coding agents often pass 50 calls: --max-calls 500, or the preset: switchgear policy init --preset coding',
    '  --heartbeats    [heartbeat] lines open tasks with limits of their own',
    'Output:',
    '  --raw           pass the output on unchanged, and add no flags to the command',
    '  --json          print the events of Switchgear, one JSON object per line',
    '  --quiet         no status line and no progress on stderr',
    '  --interactive   leave the terminal to the agent; the default for an agent that talks to a person',
    'Model calls:',
    '  --gateway       lead them through a gateway of this run alone: exact spend, and a clean end at a limit',
    '  --upstream URL  the provider behind it; by default the base URL that is set, or the own one of each API',
    'At a limit:',
    '  --observe       report, but end nothing',
    '  --no-ask        do not ask at the terminal how to continue',
    '  --wait 10m      without a terminal, wait this long for an answer in the inbox',
    '  --grace 5s      the time the agent, or a program it has left running, has to exit before it is ended',
    'Programs that the agent leaves running:',
    '  --leave         leave them running, and name them',
    '  --wait-tree     wait until they end, within the limits of the run',
    '  --contain       run the agent in a PID namespace of its own, where nothing outlives it (Linux)',
    'Configuration:',
    '  --policy FILE   --store STORE (memory keeps nothing)   --agent NAME   --session NAME',
    '  --mapping FILE  how to read the JSON lines of another program',
    '',
    "Exit codes: the agent's own if it ended by itself (128 + N by a signal); 75 halted by Switchgear,",
    '126 cannot be executed, 127 not found, 129 hung up, 130 Ctrl-C, 141 output closed, 143 terminated;',
    '1 and 2 if Switchgear could not start, 1 also if its output cannot be written.',
  ],
  async run(args, terminal) {
    const options = parseRunOptions(args, terminal);
    return withRunStore(options, terminal, (store) => startRun(store, options, terminal));
  },
};

async function startRun(store: Store, givenOptions: RunCommandOptions, terminal: Terminal): Promise<number> {
  const parsedOptions = await refuseObserving(store, givenOptions, terminal);
  const session = parsedOptions.session ?? (terminal.env.SWITCHGEAR_SESSION || `s-${uniqueId()}`);
  // An invalid policy must be reported before the agent starts; without a policy file there is nothing to check.
  const earlyPolicy = hasPolicyFile(parsedOptions, terminal)
    ? await loadRunPolicy(store, parsedOptions, terminal)
    : undefined;
  const options = earlyPolicy === undefined ? parsedOptions : withMapping(parsedOptions, earlyPolicy);
  // An order that was given while this command started concerns the run, too.
  const startedMs = store.clock.nowMs() - process.uptime() * 1000;
  if (options.gateway) return startBehindGateway(store, options, terminal, session, startedMs, earlyPolicy);
  const launched = await launch(store, options, terminal, options.command, session, startedMs);
  return endOnError(launched, async () => {
    keepHeapSmall();
    const reported = reportRunStore(options, terminal);
    const { runSession } = await import('./session.ts');
    const policy = earlyPolicy ?? (await loadRunPolicy(store, options, terminal));
    const { agent } = launched.record;
    const begin = () => ({ command: options.command, task: { parent: null, limits: options.limits }, launched });
    const code = await runSession({ store, options, terminal, policy, agent, session, begin });
    await reported;
    return code;
  });
}

/** The gateway counts on the task of the run, so the engine is loaded before the agent starts. */
async function startBehindGateway(
  store: Store,
  options: RunCommandOptions,
  terminal: Terminal,
  session: string,
  orderedSinceMs: number,
  earlyPolicy: CheckedPolicy | undefined,
): Promise<number> {
  keepHeapSmall();
  const reported = reportRunStore(options, terminal);
  const { runSession } = await import('./session.ts');
  const policy = earlyPolicy ?? (await loadRunPolicy(store, options, terminal));
  const agent = findAgentName(options, options.command);
  const task = { parent: null, limits: options.limits };
  const begin = () => ({ command: options.command, task, orderedSinceMs });
  const code = await runSession({ store, options, terminal, policy, agent, session, begin });
  await reported;
  return code;
}

/** Reports a run below an agent that another store guards; the run goes on. */
async function reportRunStore({ parsedArgs }: RunCommandOptions, terminal: Terminal): Promise<void> {
  const { reportCommandStore } = await import('../guarding-store.ts');
  const guarding = await reportCommandStore('it counts in a store of its own', parsedArgs, terminal);
  if (guarding === undefined) return;
  terminal.err(`warning: this run counts in a store of its own; the agent above it is guarded in ${guarding.name}`);
}

/** Below a guarded agent, a run that only observes would make the hooks of nested agents observe. */
async function refuseObserving(store: Store, options: RunCommandOptions, terminal: Terminal) {
  if (!options.observe || !(await isBelowGuardedAgent(store, terminal.env))) return options;
  terminal.err('switchgear: --observe is ignored: this process is below an agent that Switchgear guards');
  return { ...options, observe: false, ownArgs: options.ownArgs.filter((arg) => arg !== '--observe') };
}

/** @param earlier The settings with which the run was started before. */
export async function loadRunPolicy(
  store: Store,
  options: RunCommandOptions,
  terminal: Terminal,
  earlier?: EarlierSettings,
) {
  const { loadDescribedPolicy, placeOnStore } = await import('../policy/load-policy.ts');
  return loadDescribedPolicy(options.policy, terminal, placeOnStore(store, terminal), options.quiet, earlier);
}

function hasPolicyFile({ policy }: RunCommandOptions, terminal: Terminal): boolean {
  if (policy !== undefined || terminal.env.SWITCHGEAR_POLICY) return true;
  return findPolicyFiles(terminal.cwd, terminal).length > 0;
}

async function withRunStore(
  { parsedArgs }: RunCommandOptions,
  terminal: Terminal,
  work: (store: Store) => Promise<number>,
): Promise<number> {
  if ((parsedArgs.values.get('--store') ?? terminal.env.SWITCHGEAR_STORE) === 'memory')
    return work(memoryStore(systemClock));
  let isOpen = false;
  try {
    const open = (store: Store) => {
      isOpen = true;
      return work(store);
    };
    return await withStore(findStoreAddress(parsedArgs, terminal), open, { verify: false, onLoss: terminal.err });
  } catch (error) {
    if (isOpen || !(error instanceof SwitchgearError) || !error.code.startsWith('store_')) throw error;
    throw new SwitchgearError(error.code, `${error.message}; or run without one: --store memory`, { cause: error });
  }
}
