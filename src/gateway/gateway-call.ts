/** A request of a client whose key is known: its task, its turn, and its upstream. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { quoteValue } from '../core/quote.ts';
import { noteRefusedCall } from '../guard/entries/relayed-call.ts';
import { isObserving, type Runtime, type Target } from '../guard/internal.ts';
import { HttpError } from '../http/http-error.ts';
import type { GatewayContext } from './gateway-context.ts';
import { allowsModel, type KeyRecord, listBudgets } from './keys/key-records.ts';
import { type RateTicket, takeTurn } from './keys/rate-limits.ts';
import { findMembers, skipSpace } from './shapes/json-text.ts';
import type { Fields } from './shapes/shape.ts';
import type { RequestTarget } from './target.ts';
import { identifyTask, placeIdentity, type TaskIdentity } from './task-identity.ts';
import type { Upstream } from './upstreams.ts';

export interface GatewayCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: RequestTarget;
  /** The key of the gateway that the client has. */
  readonly key: KeyRecord | undefined;
}

/** The task of a request, among those of its client. */
export function identifyCall({ target, request: { headers }, key }: GatewayCall, fields: Fields): TaskIdentity {
  const paying = key && { name: key.name, budgets: listBudgets(key), tag: key.hash.slice(0, 4) };
  return placeIdentity(identifyTask(target.task, headers, fields), headers, paying);
}

/** Why a request is refused before any control sees it. */
type RefusedFor = 'unpriced_path' | 'model_not_allowed' | 'rate_limit';

const refusedTarget: Readonly<Record<RefusedFor, Target>> = {
  unpriced_path: { name: 'unpriced', kind: 'model', isOpaque: true },
  model_not_allowed: { name: 'model', kind: 'model', isOpaque: true },
  rate_limit: { name: 'model', kind: 'model', isOpaque: true },
};

/**
 * Writes a request that is refused before any control sees it to the journal; it counts for no task. A gateway that
 * observes refuses only what a key is not for.
 */
export function noteRefused(runtime: Runtime, code: RefusedFor, reason: string): void {
  const isEnforced = code === 'model_not_allowed' || !isObserving(runtime);
  const stop = { kind: 'deny', code, control: 'gateway', counters: {}, reason } as const;
  noteRefusedCall(runtime, refusedTarget[code], stop, isEnforced);
}

/** Writes the error of a request to the journal, if it is a refusal by the key of its client. */
export function noteError(runtime: Runtime, error: unknown): void {
  if (!(error instanceof HttpError)) return;
  const { code, message } = error;
  if (code === 'model_not_allowed' || code === 'rate_limit') noteRefused(runtime, code, message);
}

/** Waits until the rates of the key have room for a request; undefined without rates. */
export function waitForTurn(
  context: GatewayContext,
  { key, response }: GatewayCall,
  tokens: number,
): Promise<RateTicket | undefined> | undefined {
  if (key?.requestsPerMinute === undefined && key?.tokensPerMinute === undefined) return undefined;
  return waitForRates(context, key, response, tokens);
}

async function waitForRates(
  { runtime }: GatewayContext,
  key: KeyRecord,
  response: ServerResponse,
  tokens: number,
): Promise<RateTicket | undefined> {
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  response.once('close', leave);
  try {
    const observe = (reason: string) => noteRefused(runtime, 'rate_limit', reason);
    return await takeTurn(runtime.store, key, tokens, leaving.signal, isObserving(runtime) ? observe : undefined);
  } catch (error) {
    if (leaving.signal.aborted) return undefined;
    throw error;
  } finally {
    response.off('close', leave);
  }
}

/**
 * Checks that a body names one model, and that the key may call all models to which a router may pass it on. Of two
 * members of one name, another reader could take the other one.
 */
export function checkModels({ key }: GatewayCall, fields: Fields, plain: Buffer): void {
  if (key?.models === undefined) return;
  const text = plain.toString();
  const count = (name: string) => findMembers(text, skipSpace(text, 0), name)?.length ?? 2;
  if (count('model') > 1 || count('models') > 1)
    throw new HttpError(403, 'model_not_allowed', 'the request names its model twice');
  const others = fields.models === undefined ? [] : Array.isArray(fields.models) ? fields.models : [fields.models];
  const wrong = others.find((each) => typeof each !== 'string' || !allowsModel(key, each));
  if (wrong !== undefined)
    throw new HttpError(403, 'model_not_allowed', `the key ${key.name} may not call the model ${quoteValue(wrong)}`);
}

/** The upstream of a request; throws if its key may not use the model, if no upstream offers it, or has no key. */
export function findUpstream(
  { upstreams }: GatewayContext,
  { target: { provider }, key }: GatewayCall,
  model: string | undefined,
): Upstream {
  if (key !== undefined && model !== undefined && !allowsModel(key, model))
    throw new HttpError(403, 'model_not_allowed', `the key ${key.name} may not call the model ${quoteValue(model)}`);
  const upstream = upstreams.find(provider, model, key !== undefined);
  const calls = model === undefined ? `the ${provider} API` : `the model ${quoteValue(model)} of the ${provider} API`;
  if (upstream === undefined) throw new HttpError(404, 'no_upstream', `the policy has no upstream for ${calls}`);
  if (upstream.problem !== undefined) {
    const message = `Switchgear: the upstream ${upstream.name} cannot be used: ${upstream.problem}`;
    throw new HttpError(502, 'upstream_not_configured', message);
  }
  return upstream;
}
