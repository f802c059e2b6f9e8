/** Opens the store and the policy of `switchgear gateway`, and runs the gateway until the command ends. */

import { cardApprover } from '../../approvers/card-approver.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { Entry } from '../../core/event.ts';
import { reportedNamesMax } from '../../core/limits.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import { openKeyBook } from '../../gateway/keys/key-records.ts';
import { type ProviderName, providerUrls } from '../../gateway/providers.ts';
import { type GatewayOptions, startGateway } from '../../gateway/start-gateway.ts';
import { createUpstreamChoice, type GivenUpstreams } from '../../gateway/upstream-choice.ts';
import { assembleSwitchgear, runtimeOf } from '../../guard/internal.ts';
import { sanitizeText } from '../../operator/format.ts';
import { systemClock } from '../../platform/system-clock.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import type { Store } from '../../ports/store.ts';
import { priceBook } from '../../prices/index.ts';
import { memoryStore } from '../../stores/memory.ts';
import { ClientWatch } from '../../supervisor/client-watch.ts';
import { keepHeapSmall } from '../../supervisor/small-heap.ts';
import type { ParsedArgs, Terminal } from '../command.ts';
import { loadEffectivePolicy, placeOnStore } from '../policy/load-policy.ts';
import type { PolicyInForce } from '../policy/policy-in-force.ts';
import { createPolicyReader } from '../policy/policy-reader.ts';
import { limitsSpend, makeSessionLimits } from '../policy/session-limits.ts';
import { findStoreAddress, withStore } from '../store-option.ts';

export interface GatewayCommandOptions extends GivenUpstreams {
  readonly parsedArgs: ParsedArgs;
  readonly host: string;
  readonly tls?: GatewayOptions['tls'];
  readonly allowedHosts?: readonly string[];
  /** Whether a request needs a key even if there is none. */
  readonly needsKey?: boolean;
  readonly port: number;
  readonly observe: boolean;
  readonly watchesTools: boolean;
  readonly allowedPaths: readonly string[];
  /** Limits of each task, over those of the policy. */
  readonly limits: Partial<TaskSettings>;
}

/** Runs the gateway until `stopped` resolves. */
export async function runGateway(
  options: GatewayCommandOptions,
  terminal: Terminal,
  stopped: Promise<void>,
): Promise<void> {
  keepHeapSmall();
  const { parsedArgs } = options;
  const work = (store: Store) => runOnStore(store, options, terminal, stopped);
  const isMemory = (parsedArgs.values.get('--store') ?? terminal.env.SWITCHGEAR_STORE) === 'memory';
  await (isMemory
    ? work(memoryStore(systemClock))
    : withStore(findStoreAddress(parsedArgs, terminal), work, { onLoss: terminal.err }));
}

async function runOnStore(
  store: Store,
  options: GatewayCommandOptions,
  terminal: Terminal,
  stopped: Promise<void>,
): Promise<void> {
  const { parsedArgs, host, port, observe, allowedPaths, limits, watchesTools } = options;
  const place = placeOnStore(store, terminal);
  const policyOption = parsedArgs.values.get('--policy');
  const inForce = await loadEffectivePolicy(policyOption, terminal, place);
  const { folder } = inForce;
  let { policy } = inForce;
  checkWaitingUpstreams(inForce, options);
  const gear = assembleSwitchgear(
    {
      agent: 'gateway-client',
      store,
      policy,
      prices: priceBook(),
      approver: cardApprover({ store }),
      ...(observe && { mode: 'observe' }),
      env: {},
      project: folder ?? terminal.cwd,
      log: 'silent',
    },
    {
      policyEngine: (await import('../../guard/create-switchgear.ts')).policyEngine,
      haltActions: ['replan', 'dismiss'],
      layer: 'gateway',
    },
  );
  const runtime = runtimeOf(gear);
  gear.onEntry(createHaltLines(terminal));
  const upstreams = createUpstreamChoice(runtime, options, terminal);
  const keys = await openKeyBook(store);
  const tellProblems = () => {
    for (const problem of upstreams.listProblems(keys.hasAny()))
      terminal.err(`switchgear: calls of an upstream are refused with 502: ${problem}`);
  };
  tellProblems();
  const { tls, allowedHosts = [], needsKey = false } = options;
  if (needsKey && !keys.hasAny())
    terminal.err('switchgear: no key exists, so every request is refused: switchgear gateway key add NAME');
  let taskLimits = makeTaskLimits(policy, limits);
  const clients = new ClientWatch(store, { by: 'gateway', name: 'gateway' });
  const gateway = await startGateway(runtime, {
    ...{ host, port, allowedPaths, watchesTools, upstreams, tls, allowedHosts, needsKey, keys },
    noteClient: (connection) => clients.note(connection),
    get isLimited() {
      return taskLimits.isLimited;
    },
    get limits() {
      return taskLimits.limits;
    },
  });
  const scheme = tls === undefined ? 'http' : 'https';
  terminal.out(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${gateway.port}`);
  const readPolicy = createPolicyReader(policy, policyOption, terminal, place, inForce.waiting.length > 0);
  const watch = setInterval(async () => {
    const next = await readPolicy();
    if (next === policy) return;
    policy = next;
    taskLimits = makeTaskLimits(policy, limits);
    gear.reload(policy);
    tellProblems();
  }, policyPollMs);
  await stopped;
  clearInterval(watch);
  await gateway.close();
  await store.shared?.settled();
  gear.dispose();
}

/** The limits of each task, and whether one of money or tokens is set. Read for each request, so made once a policy. */
function makeTaskLimits(
  policy: CheckedPolicy,
  limits: Partial<TaskSettings>,
): Pick<GatewayOptions, 'limits' | 'isLimited'> {
  const isLimited = (limits.maxSpendCents ?? limits.maxTokens) !== undefined || limitsSpend(policy);
  return { limits: { ...makeSessionLimits(policy), ...limits }, isLimited };
}

/** Prints each halt, and of a gateway that observes the first refusal of each task and code. */
function createHaltLines(terminal: Terminal): (entry: Entry) => void {
  const told = new Set<string>();
  return (entry) => {
    if (entry.type !== 'task-halted' && entry.type !== 'action-refused') return;
    // A request that is refused before any control sees it has no task.
    const { task = 'a request', message, enforced } = entry;
    const isHalt = entry.type === 'task-halted';
    if (enforced) {
      if (isHalt) terminal.err(`switchgear: ${sanitizeText(`${task} halted: ${message}`)}`);
      return;
    }
    const { code } = isHalt ? entry.stop : (entry.decision.verdict as Stop);
    const mark = `${task} ${code}`;
    if (told.has(mark) || told.size >= reportedNamesMax) return;
    told.add(mark);
    terminal.err(`switchgear: ${sanitizeText(`${task} would be ${isHalt ? 'halted' : 'refused'}: ${message}`)}`);
  };
}

/** Keys of clients must not go to the providers' own addresses because the upstreams of the policy wait for trust. */
function checkWaitingUpstreams({ policy, waiting }: PolicyInForce, { upstreams, fallbacks }: GivenUpstreams): void {
  if (!waiting.includes('upstreams') || policy.settings.upstreams !== undefined) return;
  const names = Object.keys(providerUrls) as readonly ProviderName[];
  if (names.every((name) => (upstreams[name] ?? fallbacks[name]) !== undefined)) return;
  const remedy = 'trust the policy with "switchgear policy trust", or name the hosts with --upstream';
  throw new SwitchgearError('policy_untrusted', `the upstreams of the policy wait for trust: ${remedy}`);
}

/** How often the policy is looked at. */
const policyPollMs = 1_000;
