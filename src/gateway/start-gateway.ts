/** Starts the gateway: checks each request, finds its task, and passes it. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isMatch } from '../core/glob.ts';
import { nameLengthMax } from '../core/limits.ts';
import type { TaskSettings } from '../core/settings.ts';
import { refusesCalls, relayCall } from '../guard/entries/relayed-call.ts';
import { isObserving, type Runtime } from '../guard/internal.ts';
import { HttpError } from '../http/http-error.ts';
import { makeListenError } from '../http/listen-error.ts';
import { checkHost, checkOrigin, checkSingleHeaders, type HostRules } from '../http/request-checks.ts';
import { createConversations, type PlacedHint } from './conversations/conversations.ts';
import { insertIntoBody } from './conversations/insert-into-body.ts';
import {
  checkModels,
  findUpstream,
  type GatewayCall,
  identifyCall,
  noteError,
  noteRefused,
  waitForTurn,
} from './gateway-call.ts';
import type { GatewayContext } from './gateway-context.ts';
import { createGatewayTasks } from './gateway-tasks.ts';
import { findClientKey } from './keys/client-key.ts';
import type { KeyBook } from './keys/key-records.ts';
import {
  clientConnectionsMax,
  closeGraceMs,
  headersTimeoutMs,
  idleConnectionMs,
  outputTokensMin,
  upstreamSilenceMs,
} from './limits.ts';
import { unpricedTargetOf } from './model-call.ts';
import { exchangeModelCall } from './model-exchange.ts';
import { createModelFigures, measurePrompt } from './model-figures.ts';
import { sendClosing, sendGatewayError, sendRefusal, sendRequestError, sendUnreachable } from './own-answer.ts';
import { hasBody, makeUpstreamHeaders, passAnswer } from './pass-through.ts';
import { createBodyReader } from './request-body.ts';
import { createRunTasks, type GatewayRun, takeRunPath } from './run-tasks.ts';
import { createRunningCalls } from './running-calls.ts';
import { shapeOf } from './shapes/index.ts';
import type { ApiShape, Fields } from './shapes/shape.ts';
import { readTarget } from './target.ts';
import { createTaskLedger } from './task-ledger.ts';
import { createConnections } from './upstreams.ts';

/** The options of a gateway. Settings of the policy are read for each request, since the policy may change. */
export interface GatewayOptions extends Pick<GatewayContext, 'upstreams'> {
  readonly host: string;
  readonly port: number;
  /** Limits of each task, over those of the policy. */
  readonly limits: Partial<TaskSettings>;
  /** How long an upstream may be silent, before its answer and within it. @default 600 s */
  readonly silenceMs?: number;
  /** Whether a limit of money or tokens is set, so that calls that cannot be metered are refused. */
  readonly isLimited: boolean;
  /** Whether loops are found in the calls of tools that requests repeat. */
  readonly watchesTools: boolean;
  /** The run that the gateway serves alone. @default none */
  readonly run?: GatewayRun;
  /** The keys of clients; if there are any, a request without one is refused. */
  readonly keys?: KeyBook;
  /** Whether a request needs a key even if there is none. @default false */
  readonly needsKey?: boolean;
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  /** More hosts under which the gateway may be addressed. */
  readonly allowedHosts?: readonly string[];
  /** Learns of the connection of each request that is no read; the request waits for the promise. */
  readonly noteClient?: ((connection: Socket) => Promise<void> | undefined) | undefined;
  /** Paths without a price that are allowed all the same; `*` at the end stands for any rest. */
  readonly allowedPaths: readonly string[];
}

/** A gateway that runs. */
export interface RunningGateway {
  readonly port: number;
  close(): Promise<void>;
}

export async function startGateway(runtime: Runtime, options: GatewayOptions): Promise<RunningGateway> {
  const { upstreams, host, run } = options;
  // What a run has spent is stored with the run.
  const ledger = run === undefined ? createTaskLedger(runtime) : undefined;
  const runTasks = run && createRunTasks(runtime, run);
  const context: GatewayContext = {
    ...{ runtime, upstreams, run },
    tasks: runTasks ?? createGatewayTasks(runtime, options, ledger),
    ledger,
    figures: createModelFigures(),
    running: createRunningCalls(runtime.clock),
    connections: createConnections(options.silenceMs ?? upstreamSilenceMs),
  };
  const readRequestBody = createBodyReader();
  const conversations = createConversations(runtime, context.tasks);
  const { tls, allowedHosts = [] } = options;
  let rules: HostRules = { port: options.port, scheme: tls ? 'https' : 'http', allowed: allowedHosts };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkSingleHeaders(request);
    checkHost(request, rules);
    checkOrigin(request, rules);
    const { method = 'GET', url = '' } = request;
    if (url === '/health' && (method === 'GET' || method === 'HEAD')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}');
      return;
    }
    if (url === '/' && (method === 'GET' || method === 'HEAD')) {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(frontText);
      return;
    }
    const target = readTarget(method, run === undefined ? url : takeRunPath(run, url), request.headers);
    if (target === undefined)
      throw new HttpError(400, 'invalid_target', 'the target of a request must be a plain path');
    try {
      const key = findClientKey(options.keys, request, options.needsKey === true);
      // A browser that opens the address is no client.
      const noting = method === 'GET' || method === 'HEAD' ? undefined : options.noteClient?.(request.socket);
      if (noting !== undefined) await noting;
      await route({ request, response, target, key });
    } catch (error) {
      noteError(runtime, error);
      answerError(request, response, error, target.shape ?? shapeOf(target.provider));
    }
  }

  async function route(call: GatewayCall): Promise<void> {
    const { request, response, target } = call;
    if (target.kind === 'free') await pass(context, call);
    else if (target.shape === undefined) await passUnpriced(context, options, call);
    else {
      const { shape } = target;
      const { body, plain, fields, release } = await readRequestBody(request);
      response.on('close', release);
      const facts = shape.readRequest(target.spelled, fields);
      if (facts.model.length > nameLengthMax)
        throw new HttpError(400, 'invalid_model', `the name of a model has at most ${nameLengthMax} letters`);
      checkModels(call, fields, plain);
      const upstream = findUpstream(context, call, facts.model);
      const identity = identifyCall(call, fields);
      const found = context.tasks.find(identity);
      const task = found instanceof Promise ? await found : found;
      // A request without tools is a side request of the client, such as a title.
      const isWatched = facts.hasTools && options.watchesTools;
      // Another run of the same program begins its conversations anew.
      const owner = run === undefined ? identity.id : task.id;
      const continued = isWatched ? conversations.find(owner, task, shape.readHistory(fields)) : undefined;
      const conversation = continued instanceof Promise ? await continued : continued;
      if (conversation !== undefined) context.tasks.endConversation?.(task, conversation.task);
      response.once('close', () => conversation?.answered());
      if (response.destroyed) return;
      const ending = run?.ending();
      if (ending !== undefined) {
        sendClosing(response, shape, ending, facts);
        return;
      }
      const size = measurePrompt(fields, body.length);
      const needed = context.figures.estimateInput(facts.model, size) + outputTokensMin;
      const turn = waitForTurn(context, call, needed);
      const ticket = turn && (await turn);
      if (response.destroyed) {
        ticket?.settle(0);
        return;
      }
      run?.onCall();
      const bodies = conversation?.hints.length ? addHints(shape, fields, plain, conversation.hints) : { body, plain };
      const rest = { upstream, shape, facts, size, task, conversation: conversation?.task, ...bodies };
      exchangeModelCall(context, { request, response, target, ...rest, ...(ticket && { onUsage: ticket.settle }) });
    }
  }

  const accept = (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => {}); // A client that is gone must not end the gateway.
    handle(request, response).catch((error: unknown) => answerError(request, response, error));
  };
  const times = {
    ...{ requestTimeout: 0, headersTimeout: headersTimeoutMs, keepAliveTimeout: idleConnectionMs },
    noDelay: true,
  };
  const server = tls ? createTlsServer({ ...times, ...tls }, accept) : createServer(times, accept);
  server.maxConnections = clientConnectionsMax;
  server.on('upgrade', refuseUpgrade);
  server.on('connect', (_, socket: Duplex) => socket.destroy());
  server.on('clientError', (_, socket) => socket.destroy());
  await listen(server, host, options.port);
  rules = { ...rules, port: (server.address() as AddressInfo).port };
  const close = async () => {
    await closeGateway(server, context);
    context.tasks.close?.();
    ledger?.flush();
    runTasks?.endAll();
  };
  return { port: rules.port, close };
}

/** The body of a request with the hints that stand in its history. */
function addHints(shape: ApiShape, fields: Fields, plain: Buffer, hints: readonly PlacedHint[]) {
  const inserts = hints.map(({ at, text }) => shape.placeHint(fields, at, text)).filter((each) => each !== undefined);
  const body = insertIntoBody(plain, inserts);
  return { body, plain: body, isEdited: true };
}

/** Passes a request and its answer byte for byte. */
async function pass(context: GatewayContext, call: GatewayCall): Promise<IncomingMessage> {
  const { request, response, target } = call;
  const { url } = target;
  const upstream = findUpstream(context, call, undefined);
  const closing = new AbortController();
  response.on('close', () => closing.abort());
  // The rest of a body that the upstream did not take would hold up the next request on the connection.
  response.on('finish', () => request.unpipe().resume());
  const answer = await context.connections.send(upstream, {
    ...{ method: request.method ?? 'GET', url, signal: closing.signal },
    headers: makeUpstreamHeaders(request, upstream),
    body: hasBody(request) ? request : undefined,
  });
  passAnswer(answer, response);
  return answer;
}

/** Passes a request that may spend money and cannot be metered: it counts as a model call of its task. */
async function passUnpriced(
  context: GatewayContext,
  { isLimited, allowedPaths }: GatewayOptions,
  call: GatewayCall,
): Promise<void> {
  const { request, response, target, key } = call;
  const path = target.url.split('?', 1)[0]!;
  const isAllowed = [...allowedPaths, ...context.runtime.settings.gateway.allowUnpriced].some((each) =>
    isMatch(each, path),
  );
  if ((isLimited || key?.budget !== undefined) && !isAllowed) {
    noteRefused(context.runtime, 'unpriced_path', `the cost of ${path.slice(0, nameLengthMax)} cannot be metered`);
    if (!isObserving(context.runtime)) {
      const remedy = `allow it by gateway.allow_unpriced in the policy, or with --allow-path ${path}`;
      sendGatewayError(response, 402, 'unpriced_path', `Switchgear: the cost of ${path} cannot be metered; ${remedy}`);
      return;
    }
  }
  if (key?.models !== undefined) {
    const message = `the key ${key.name} may only call some models, and ${path} names none`;
    throw new HttpError(403, 'model_not_allowed', message);
  }
  await waitForTurn(context, call, 0);
  if (response.destroyed) return;
  const task = await context.tasks.find(identifyCall(call, {}));
  if (response.destroyed) return;
  const closing = new AbortController();
  response.on('close', () => closing.abort());
  const calls = unpricedTargetOf(context, target.provider, findUpstream(context, call, undefined));
  // Refusals of an open circuit count for no task.
  const isOpen = task.haltStop === undefined && refusesCalls(context.runtime, calls, task);
  relayCall(context.runtime, {
    target: calls,
    task: isOpen ? undefined : task,
    args: [],
    signal: closing.signal,
    begin(relayed) {
      context.ledger?.save(task);
      context.tasks.goOn?.(task);
      if (response.destroyed) {
        relayed.settleMetered({ cancelled: true }, undefined);
        return;
      }
      relayed.signal.addEventListener('abort', () => response.destroy(), { once: true });
      pass(context, call).then(
        ({ statusCode: status = 502, headers }) =>
          relayed.settleMetered(status < 400 ? { value: undefined } : { error: { status, headers } }, undefined),
        (error: unknown) => {
          relayed.settleMetered(response.destroyed ? { cancelled: true } : { error }, undefined);
          answerError(request, response, error, shapeOf(target.provider));
        },
      );
    },
    refuse: (refusal) => sendRefusal(response, shapeOf(target.provider), refusal, context.runtime.clock.nowMs()),
    giveUp: () => response.destroy(),
  });
}

/** For a person who opens the address in a browser. */
const frontText =
  'The gateway of Switchgear for model calls: use this address as the base URL of an agent. Its state: /health\n';

/** Answers a request that failed, in the shape of its API. Without a shape it is no request of a known API. */
function answerError(request: IncomingMessage, response: ServerResponse, error: unknown, shape?: ApiShape): void {
  if (response.headersSent) response.destroy();
  else if (error instanceof HttpError) {
    // The rest of a body that is not read must not be taken for another request.
    if (!request.complete) response.setHeader('connection', 'close');
    sendRequestError(response, shape, error);
  } else if (isNetworkError(error) && shape !== undefined) {
    const { upstreamHost = 'the upstream' } = error as { readonly upstreamHost?: string };
    sendUnreachable(response, shape, upstreamHost, error);
  } else
    sendRequestError(response, shape, new HttpError(500, 'internal_error', 'the gateway failed to handle the request'));
}

/** Whether a connection could not be opened, was closed, was silent, or spoke no HTTP. */
function isNetworkError(error: unknown): boolean {
  const { code = '', syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return syscall !== undefined || /^(ECONN|ETIMEDOUT|EPIPE|HPE_|ERR_SSL|ERR_TLS|CERT_|UNABLE_|DEPTH_|SELF_)/.test(code);
}

/** Codex tries a WebSocket first, and uses plain requests after this answer. */
function refuseUpgrade(_: IncomingMessage, socket: Duplex): void {
  const body = '{"error":{"type":"switchgear_error","message":"the gateway has no WebSockets: use HTTP requests"}}';
  socket.on('error', () => socket.destroy());
  const head = ['HTTP/1.1 426 Upgrade Required', 'Connection: close', 'Content-Type: application/json'];
  socket.end([...head, `Content-Length: ${body.length}`, '', body].join('\r\n'));
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(makeListenError(error, 'the gateway', { host, port }, '--port')));
    server.listen({ host, port, exclusive: true }, resolve);
  });
}

/** Lets requests finish for a moment, and closes the rest. */
function closeGateway(server: Server, { runtime, connections }: GatewayContext): Promise<void> {
  return new Promise((resolve) => {
    const cancel = runtime.clock.after(closeGraceMs, () => server.closeAllConnections(), true);
    server.close(() => {
      cancel();
      connections.close();
      resolve();
    });
    server.closeIdleConnections();
  });
}
