/** Opens the store, the policy of the project and the surrounding run for one hook event, and handles the event. */

import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { SwitchgearError } from '../../core/error.ts';
import type { Entry } from '../../core/event.ts';
import { hookLockPollMaxMs, roundsMax, storePollMs } from '../../core/limits.ts';
import type { Settings } from '../../core/settings.ts';
import { assembleSwitchgear, countError, fingerprint, runtimeOf } from '../../guard/internal.ts';
import { handleEvent } from '../../hooks/handle-event.ts';
import { type HookOrigin, readHookOrigin } from '../../hooks/hook-origin.ts';
import {
  type HookDecision,
  type HookEvent,
  type HookHost,
  type Payload,
  pass,
  type TranscriptFile,
} from '../../hooks/hosts/hook-event.ts';
import { listHookSettings } from '../../hooks/hosts/settings-paths.ts';
import { placeEvent } from '../../hooks/place-event.ts';
import type { HookContext } from '../../hooks/session/hook-tasks.ts';
import { type LockedSession, redactState } from '../../hooks/session/session-lock.ts';
import { isFirstSeen, type SessionState } from '../../hooks/session/session-state.ts';
import { accountUsage } from '../../hooks/spend/account-usage.ts';
import { createPriceCache } from '../../hooks/spend/price-cache.ts';
import { listPolicyFolders, policyFileNames } from '../../platform/policy-files.ts';
import type { OwnProcess, OwnTargets } from '../../platform/self-protection/own-files.ts';
import { stateFolder, userStateFolder } from '../../platform/state-folder.ts';
import { systemClock, wait } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import type { Prices } from '../../ports/prices.ts';
import { zeroBreaker } from '../../ports/process-counts.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { listGuardProcesses } from '../../supervisor/guard-processes.ts';
import { findRunAround } from '../../supervisor/guarded-agents.ts';
import { reportHookedTool, reportHookHalt } from '../../supervisor/hook-mailbox.ts';
import { isAlive, readStoredRun } from '../../supervisor/run-record.ts';
import { makeStoreWithoutHalts } from '../../supervisor/store-beside-run.ts';
import type { ParsedArgs, Terminal } from '../command.ts';
import { placeBelowHost } from '../policy/host-place.ts';
import { findStoreAddress, type StoreAddress, withStore } from '../store-option.ts';
import {
  applySessionPolicy,
  type HookPolicy,
  loadHookPolicy,
  OtherPolicySignal,
  resolveChangedPolicy,
} from './session-policy.ts';

export interface HookRunOptions {
  readonly host: HookHost;
  readonly payload: Payload;
  readonly event: Exclude<HookEvent, { readonly type: 'other' }>;
  readonly parsedArgs: ParsedArgs;
  readonly terminal: Terminal;
  readonly untilMs: number;
}

export async function runHook(run: HookRunOptions): Promise<HookDecision> {
  const { host, payload, event, parsedArgs, terminal, untilMs } = run;
  const { env } = terminal;
  const project = env.CLAUDE_PROJECT_DIR || env.GEMINI_PROJECT_DIR || event.cwd || terminal.cwd;
  // A hook inside another process, such as a test, has no host.
  const origin = terminal.isShortLived === true ? readHookOrigin() : undefined;
  // One id for all rounds, so that a repeated report of a call without an id is counted once.
  const call =
    event.type === 'call-proposed' ? `${event.id ?? uniqueId()} ${fingerprint(event.tool, [event.input])}` : undefined;
  const given = findStoreAddress(parsedArgs, terminal);
  let address = given;
  const work = async (store: CrossProcessStore) => {
    const place = placeBelowHost(store, env, origin?.host);
    const hookPolicy = await loadHookPolicy(parsedArgs.values.get('--policy'), { ...terminal, cwd: project }, place);
    let effective = hookPolicy;
    // Other hooks of the session may see the change, too.
    for (let round = 0; round < roundsMax; round++) {
      try {
        return await decideWith(store, effective);
      } catch (error) {
        if (!(error instanceof OtherPolicySignal)) throw error;
        effective = await resolveChangedPolicy(store, hookPolicy, error.from);
      }
    }
    throw new SwitchgearError('store_busy', 'the policy of the session keeps changing');
  };
  const decideWith = async (store: CrossProcessStore, hookPolicy: HookPolicy) => {
    const { policy } = hookPolicy;
    // A policy file above the folder counts for the whole of its folder.
    const counted = hookPolicy.inForce?.folder ?? project;
    const joined = await findJoinedRun(store, env, origin);
    const isWatched = joined?.isWatched === true;
    if (joined !== undefined && event.type === 'call-proposed') {
      await reportHookedTool(store, joined.task, host.streamNames?.[event.tool] ?? event.tool);
    }
    if (joined?.isWatched && event.session !== joined.conversation) {
      const { reportToRun } = await import('./nested-report.ts');
      const isBooked = await reportToRun(store, joined.task, host, payload, event, call);
      if (!isBooked && event.type === 'call-proposed') return tooManyNested;
    }
    const session = joined?.session ?? (env.SWITCHGEAR_SESSION || event.session);
    // Under a run, the run counts usage.
    const transcript = isWatched ? undefined : host.transcript(payload);
    const priceCache = transcript && createPriceCache();
    const gear = assembleSwitchgear(
      {
        agent: host.name,
        ...(priceCache && { prices: priceCache.prices }),
        session,
        store: isWatched ? makeStoreBesideRun(store) : store,
        ...(policy && { policy }),
        ...(isWatched && joined?.observes && { mode: 'observe' }),
        env: {},
        // The run has its own breakers for the same calls, so a common breaker would count each call twice.
        project: isWatched ? `${counted}#hooks` : counted,
        log: 'silent',
      },
      {
        ...(policy && { policyEngine: (await import('../../guard/create-switchgear.ts')).policyEngine }),
        settings: (settings) => setJournalLevel(settings, policy, isWatched),
        layer: 'hook',
        // The tasks outlive this process and must not be closed as lost.
        publishTasks: false,
        // The next prompt of the session starts a new task, so no program acts on another answer.
        haltActions: ['replan', 'dismiss'],
        // The run counts all calls on shared budgets, so hooks must not count them again.
        spendsJointBudgets: !isWatched,
        // Under a run, the run halts at the limits of its task.
        limitQuestions: joined === undefined ? 'at calls' : 'none',
      },
    );
    const runtime = runtimeOf(gear);
    const { name: agent, reportsTurns, inputEdits } = host;
    const isAttended = host.isAttended(payload, env);
    // A retried run is another task with a new state.
    const conversationKey = joined === undefined ? event.session : `${joined.task} ${event.session}`;
    const isReportedByRun = joined !== undefined;
    const listSettings = () => listHookSettings({ home: env.HOME || homedir(), project, env });
    const isProposed = event.type === 'call-proposed';
    const ownTargets = isProposed ? listOwnTargets(run, [given, address], project, origin) : undefined;
    const transcriptPath = event.agent === undefined ? host.transcript(payload)?.path : undefined;
    const { host: process } = origin ?? {};
    const hostProcess = process && { pid: process.pid, began: process.began };
    const hostInfo = { host: hostProcess, ownTargets, agent, session, reportsTurns, isAttended, inputEdits, joined };
    const spending = transcript &&
      priceCache && {
        ...{ ...transcript, agent: event.agent, cache: priceCache, openPrices },
        skipsUncharged: event.type === 'prompt' || event.type === 'session-ended',
      };
    // An error in reading usage must not refuse a call.
    const swallow = (error: unknown) => countError(runtime, 'spending', error);
    let outer: SessionState['outer'];
    const begin = async (session: LockedSession) => {
      const isFirst = isFirstSeen(session.state);
      if (isFirst && origin !== undefined && address === given) await checkStore(run, given, origin);
      const isUnknown = isFirst && spending !== undefined && event.agent === undefined;
      if (isUnknown) await reportFirstSeen(context, spending).catch(swallow);
      await applySessionPolicy(runtime, store, session, hookPolicy);
      if (origin !== undefined) await placeEvent(context, session, { ...event, origin, listSettings });
      outer = session.source === 'tool' ? undefined : session.state.outer;
      if (session.source === 'host' && transcriptPath !== undefined) pinTranscript(session, transcriptPath);
      if (spending !== undefined && session.source !== 'tool')
        await accountUsage(context, session, spending).catch(swallow);
    };
    const bookNested = async (sessions: NonNullable<typeof outer>) => {
      const { bookNestedEvent } = await import('../../hooks/nested-session.ts');
      return bookNestedEvent(context, sessions, { event, spending });
    };
    const context: HookContext = {
      runtime,
      store,
      conversationKey,
      isReportedByRun,
      untilMs,
      ...hostInfo,
      onLocked: begin,
    };
    const ownDecision = await handleEvent(context, event);
    const isAllowed = ownDecision.kind === 'pass' || ownDecision.kind === 'edit';
    const booked = outer && isAllowed ? await bookNested(outer) : pass;
    const decision = booked.kind === 'pass' ? ownDecision : booked;
    if (decision.kind === 'halt' && decision.halt !== undefined && joined !== undefined) {
      await reportHookHalt(store, joined.task, redactState(runtime, decision.halt));
    }
    // No one waits for the end of a session, so the store gets time to clean up its journal.
    if (event.type === 'session-ended') await wait(systemClock, storePollMs * 1.1);
    return decision;
  };
  for (;;) {
    try {
      // A hook has no time to check the whole file.
      return await withStore(address, work, {
        verify: false,
        onLoss: terminal.err,
        skipCheckpoint: terminal.isShortLived === true,
      });
    } catch (error) {
      if (error instanceof OtherStoreSignal && address === given) {
        address = error.guarding;
        continue;
      }
      const isBusy = error instanceof SwitchgearError && error.code === 'store_busy';
      if (!isBusy || systemClock.nowMs() >= untilMs) throw error;
      await wait(systemClock, hookLockPollMaxMs);
    }
  }
}

/** Thrown under the lock of a session that is new in a store, if another store guards the agent above the hook. */
class OtherStoreSignal {
  readonly guarding: StoreAddress;
  constructor(guarding: StoreAddress) {
    this.guarding = guarding;
  }
}

/**
 * Looks for another store that guards the agent above a hook, for the first event of a session in a store. The hook
 * uses that store, since its variables may be the agent's; an option is part of the installed hook, and is reported.
 */
async function checkStore({ parsedArgs, terminal }: HookRunOptions, address: StoreAddress, { chain }: HookOrigin) {
  const { reportOtherStore } = await import('../guarding-store.ts');
  const isOption = parsedArgs.values.has('--store');
  const effect = isOption ? 'its calls and questions are not seen here' : 'its events are counted here instead';
  const guarding = await reportOtherStore({ address, user: 'hook', effect }, parsedArgs, terminal, chain);
  if (guarding !== undefined && !isOption) throw new OtherStoreSignal(guarding);
}

const tooManyNested: HookDecision = {
  kind: 'deny',
  reason: 'Switchgear refused this call: too many agents were started inside one run. Start no more; ask the person.',
};

/** Records the session file that the host named first: prompts are looked for in no other file. */
function pinTranscript(session: LockedSession, path: string): void {
  if (session.state.transcript === undefined) session.state = { ...session.state, transcript: { path } };
}

/** Reports a conversation that the store meets in its middle. Loaded for the first event of a session only. */
async function reportFirstSeen(context: HookContext, transcript: TranscriptFile): Promise<void> {
  const { reportUnknownSession } = await import('../../hooks/session/unknown-session.ts');
  reportUnknownSession(context, transcript);
}

/** The files and programs that only a person may change or use. Most calls name no path, so that none is looked up. */
function listOwnTargets(
  { parsedArgs, terminal, event }: HookRunOptions,
  stores: readonly StoreAddress[],
  project: string,
  origin: HookOrigin | undefined,
): OwnTargets {
  const { env } = terminal;
  const home = env.HOME || homedir();
  const cwd = event.cwd || terminal.cwd;
  const programs = process.argv.slice(1, 2).map((path) => realpathSync(path));
  const listFiles = () => {
    const policy = parsedArgs.values.get('--policy');
    const paths = new Set(stores.flatMap((store) => (store.kind === 'sqlite' ? store.path : [])));
    const storeFiles = [...paths].flatMap((path) => ['', '-wal', '-shm'].map((end) => path + end));
    const folders = new Set([...new Set([project, cwd])].flatMap((folder) => listPolicyFolders(folder, terminal)));
    const policies = [...folders].flatMap((folder) => policyFileNames.map((name) => join(folder, name)));
    const given = policy === undefined ? [] : [resolve(terminal.cwd, policy)];
    return [...storeFiles, ...policies, ...given, ...listHookSettings({ home, project, env })];
  };
  let files: readonly string[] | undefined;
  let processes: readonly OwnProcess[] | undefined;
  const targets: OwnTargets = {
    get files() {
      files ??= listFiles();
      return files;
    },
    get folders() {
      return [stateFolder(env), userStateFolder(terminal)];
    },
    // V8 runs the code in the compile cache without comparing it with the source file.
    code: [cacheFolder(env, home), ...programs.flatMap((path) => [dirname(path), join(dirname(path), '../dist')])],
    programs,
    cwd,
    env: { ...env, HOME: home },
    listProcesses() {
      processes ??= listGuardProcesses(targets, origin?.host?.pid);
      return processes;
    },
  };
  return targets;
}

/** The folder of the compile cache, as `bin/switchgear.cjs` chooses it. */
function cacheFolder({ XDG_CACHE_HOME: cache = '' }: Terminal['env'], home: string): string {
  return join(isAbsolute(cache) ? cache : join(home, '.cache'), 'switchgear');
}

/** Loads the price book, which is slow; hooks load it once for each model and cache the price. */
async function openPrices(): Promise<Prices> {
  const { priceBook } = await import('../../prices/index.ts');
  return priceBook();
}

/** The store of a hook under a run: the run reports halts, with their cards, and counts calls and trips of breakers. */
function makeStoreBesideRun(store: CrossProcessStore): CrossProcessStore {
  const { counters } = store.shared;
  const countEntry = (entry: Entry) => {
    if (entry.type === 'action-refused') counters?.countEntry(entry);
  };
  const ownCounters = counters && { ...counters, breaker: zeroBreaker, countEntry };
  const shared = Object.create(store.shared, { counters: { value: ownCounters } });
  return makeStoreWithoutHalts(store, { shared: { value: shared } });
}

/**
 * Sets the journal level: under a run, the run writes traces; without a run, hooks write everything that a replay
 * needs.
 */
function setJournalLevel(settings: Settings, policy: CheckedPolicy | undefined, isJoined: boolean): Settings {
  const isExplicit = (policy?.provenance.get('journal.level')?.source ?? 'default') !== 'default';
  if (isExplicit && !isJoined) return settings;
  return { ...settings, journal: { ...settings.journal, level: isJoined ? 'refusals' : 'all' } };
}

/**
 * Finds the `switchgear run` around this hook: by the processes above the hook, or by its variable. A run that has
 * ended, or has no record in this store, does not count.
 */
async function findJoinedRun(
  store: CrossProcessStore,
  env: Terminal['env'],
  origin: HookOrigin | undefined,
): Promise<HookContext['joined']> {
  const around = origin && (await findRunAround(store, env, origin.chain));
  const task = around?.task ?? env.SWITCHGEAR_TASK;
  if (task === undefined || task === '') return undefined;
  const run = around ?? (await readStoredRun(store, task));
  const { carried, below, observes } = run ?? {};
  const isWatched = run?.state === 'running' && isAlive(run.owner);
  return {
    task,
    session: around?.session,
    limits: carried?.limits,
    subagentLimits: below,
    // The variable may name any run: only what the run started may be observed instead of refused.
    observes: observes === true && (around !== undefined || origin === undefined),
    isWatched,
    conversation: run?.conversation,
  };
}
