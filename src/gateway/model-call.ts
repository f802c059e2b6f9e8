/** A request to a model, and the target that the guard knows it by. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { getOrCreate } from '../core/bounded.ts';
import { callSitesMax } from '../core/limits.ts';
import type { Target as CallTarget, TaskState } from '../guard/internal.ts';
import type { GatewayContext } from './gateway-context.ts';
import type { PromptSize } from './model-figures.ts';
import { type ProviderName, providerUrls } from './providers.ts';
import type { ApiShape, RequestFacts } from './shapes/shape.ts';
import type { RequestTarget } from './target.ts';
import { addressOf, type Upstream } from './upstreams.ts';

/** A request to a model. */
export interface ModelCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: RequestTarget;
  readonly upstream: Upstream;
  /** Learns the tokens that the call used. */
  readonly onUsage?: (tokens: number) => void;
  readonly shape: ApiShape;
  readonly facts: RequestFacts;
  readonly size: PromptSize;
  readonly body: Buffer;
  /** The body without its encoding; the same one if it has none. */
  readonly plain: Buffer;
  /** Whether the body has been changed, so that it has no encoding. */
  readonly isEdited?: boolean;
  readonly task: TaskState;
  /** The task in which the tools of its conversation are watched; its halt refuses the call. */
  readonly conversation?: TaskState | undefined;
}

const callTargets = new WeakMap<GatewayContext, Map<string, CallTarget>>();

/**
 * The target of a model at an upstream, where it has a breaker of its own. Its calls cannot be compared by their
 * arguments, which the gateway does not keep.
 */
export function targetOf(
  context: GatewayContext,
  provider: ProviderName,
  { baseUrl }: Upstream,
  model: string,
): CallTarget {
  const targets = targetsOf(context);
  const name = model || 'unnamed-model';
  const breakerName = nameBreaker(provider, baseUrl, name);
  // A run is silent while its model is: only the parts of an answer are signs of life.
  const patience = context.run && { patienceMs: 0 };
  const make = (): CallTarget => ({ name, model: name, kind: 'model', isOpaque: true, breakerName, ...patience });
  return getOrCreate(targets, breakerName, callSitesMax, make);
}

/** The target of the calls to an upstream that cannot be metered. Its name is not that of a model. */
export function unpricedTargetOf(context: GatewayContext, provider: ProviderName, { baseUrl }: Upstream): CallTarget {
  const breakerName = nameBreaker(provider, baseUrl, `unpriced-${provider}`);
  const make = (): CallTarget => ({ name: 'unpriced', kind: 'model', isOpaque: true, breakerName });
  return getOrCreate(targetsOf(context), `unpriced ${breakerName}`, callSitesMax, make);
}

function targetsOf(context: GatewayContext): Map<string, CallTarget> {
  const targets = callTargets.get(context) ?? new Map<string, CallTarget>();
  callTargets.set(context, targets);
  return targets;
}

/** The breakers of a provider itself have no address in their names. */
function nameBreaker(provider: ProviderName, baseUrl: URL, name: string): string {
  const { origin, host, pathname } = addressOf(baseUrl);
  return origin === providerUrls[provider] ? name : `${host}${pathname.replace(/\/$/, '')}/${name}`;
}
