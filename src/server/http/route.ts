/** The shape of a route, and what its handler gets. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Card } from '../../core/card.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import type { Operator, OperatorRequest } from '../../operator/authorize.ts';
import type { ReadRecentEntries } from '../../operator/board/recent-entries.ts';
import type { FindTaskFamily } from '../../operator/board/task-families.ts';
import type { CardHistory } from '../../operator/inbox/card-history.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import type { Authenticator, Principal } from './authenticate.ts';
import type { EventFeed } from './event-feed.ts';
import { type Checked, type ObjectSchema, objectSchema } from './schema.ts';
import type { TokenRecord } from './tokens.ts';

/** Libraries whose names and labels the metrics of breakers can have, too. */
export const metricCompats = ['resilience4j'] as const;

/** A library whose names and labels the metrics of breakers can have, too. */
export type MetricCompat = (typeof metricCompats)[number];

/** What all requests to one server share. */
export interface ServerContext {
  readonly store: CrossProcessStore;
  /** The name of the store, without a password. */
  readonly storeName: string;
  readonly authenticator: Authenticator;
  readonly feed: EventFeed;
  readonly readCardHistory: () => Promise<CardHistory>;
  /** All cards; changes that the history has are in them. */
  readonly readCards: () => Promise<readonly Card[]>;
  readonly readCardTimes: () => Promise<CardHistory['times']>;
  readonly readRecentEntries: ReadRecentEntries;
  readonly findTaskFamily: FindTaskFamily;
  /** The settings of a trip by hand: for some seconds, or as the policy says for the tool. */
  readonly findTripSettings: (tool: string, secs: number | undefined) => Promise<BreakerSettings>;
  /** More names of metrics for every reader of `/metrics`; absent = those of Switchgear alone. */
  readonly metricCompat?: MetricCompat | undefined;
  /** The document that describes the routes. */
  readonly describe: () => unknown;
}

/** One request that passed all checks. */
export interface RouteCall<Q = Readonly<Record<string, unknown>>, B = Readonly<Record<string, unknown>>> {
  readonly context: ServerContext;
  /** The parts of the path that the route names in braces. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Q;
  readonly body: B;
  /** Absent for a route that is open to all. */
  readonly principal?: Principal;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The person behind the request; throws `operator_required` if the request comes from a guarded agent. */
  readonly authorize: (effect: OperatorRequest['effect'], note?: string) => Promise<Operator>;
  /** The name that answers and orders of the holder of a token get. */
  readonly nameHolder: (token: TokenRecord) => string;
}

/** A route of the API. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Segments; a segment in braces is a parameter. */
  readonly path: string;
  readonly summary: string;
  /** Who may use it: everybody, every token, or the token of an operator. */
  readonly access: 'open' | 'viewer' | 'operator';
  readonly query: ObjectSchema;
  /** Absent = the route takes no body. */
  readonly body?: ObjectSchema;
  /** Whether a reading route needs the custom header, as all writing ones do. */
  readonly needsHeader?: boolean;
  /** Whether a link on any page may lead here: the answer is a document without data. */
  readonly isDocument?: boolean;
  readonly media: string;
  readonly answer: string;
  /** Returns the value of the answer; `undefined` after the handler has begun the answer itself. */
  handle(call: RouteCall): Promise<unknown>;
}

const noQuery = objectSchema({});

/** Defines a route with typed query and body. */
export function defineRoute<const Q extends ObjectSchema, const B extends ObjectSchema>(
  route: Pick<Route, 'method' | 'path' | 'summary' | 'access' | 'answer'> &
    Partial<Pick<Route, 'media' | 'needsHeader' | 'isDocument'>> & {
      readonly query?: Q;
      readonly body?: B;
      readonly handle: (call: RouteCall<Checked<Q>, Checked<B>>) => unknown;
    },
): Route {
  const { handle, query = noQuery, body, media = 'application/json', ...rest } = route;
  return {
    ...rest,
    media,
    query,
    ...(body !== undefined && { body }),
    handle: async (call) => handle(call as RouteCall<Checked<Q>, Checked<B>>),
  };
}
