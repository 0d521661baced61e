/**
 * One declaration per endpoint. Routing, permission, validation in and out, transactions, idempotency and the
 * OpenAPI document all come from it, so they cannot drift apart.
 */
import type { Context } from 'koa';
import * as z from 'zod';

import type { EntityManager } from '../db/orm.ts';
import type { Actor, Role } from '../domain/auth/actor.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Other than JSON: `media({ 'image/svg+xml': z.string() })`; all types as `*\/*`. Strings are checked, streams and buffers are not. */
export interface MediaResponse {
  media: Record<string, z.ZodType>;
}

/** `null`: no body. */
export type ResponseDeclaration = z.ZodType | MediaResponse | null;

export interface EndpointResponse {
  status: number;
  /** Plain JSON; or a string, Buffer or stream with `type`. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Media type; default JSON. */
  type?: string;
}

export interface EndpointContext<P = unknown, Q = unknown, B = unknown> {
  /** In the request's transaction for mutating methods; a fresh fork without one for GET. */
  em: EntityManager;
  actor: Actor;
  params: P;
  /**
   * `query` and `body` are checked when first read: 400, 413 and 415, then 422. So load what the path names (404) and
   * check its state (409) before reading `body`. What a handler never reads is checked after it.
   */
  readonly query: Q;
  readonly body: B;
  /** Throws 400, 413 or 415 for what cannot be read at all: call it after loading, before checks of state. */
  checkSyntax(): void;
  ctx: Context;
  requestId: string;
  /** Address of this API as clients see it, without a slash at the end. */
  baseUrl: string;
  /** Runs after the commit, in order; what it returns replaces the answer. Its failures are logged, the answer stays. */
  afterCommit(action: () => Promise<EndpointResponse | void>): void;
}

export interface EndpointDefinition<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodType = z.ZodType,
> {
  method: Method;
  /** As in OpenAPI: `/agents/{id}`. Served below `/` and `/api/v1`. */
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  /** The least role that may call it; `public` needs no token. */
  role: Role | 'public';
  /** Taken in the place of a user's access token: for machines that cannot log in. */
  serviceToken?: string;
  /** Answers without a token too, as `anonymous`; with one, as its user. */
  anonymousToo?: boolean;
  /** Every value that does not fit is a 404: nothing can have that name. */
  params?: P;
  /** Unknown parameters are a 400 that names them. */
  query?: Q;
  /** Unknown fields are a 422 that names them; no body at all counts as `{}`. */
  body?: B;
  /** Instead of `body`: one schema per media type. */
  bodies?: Record<string, B>;
  /** The record that clients read here: its fields that `body` does not take are ignored, not refused. */
  record?: z.ZodObject;
  /** Media types taken; default JSON in all its `+json` forms. */
  consumes?: string[];
  /** The handler reads `ctx.req` itself; `bodies` only document. With `idempotent: true` it also keeps the key itself. */
  rawBody?: boolean;
  /** Default 2 MiB. */
  bodyLimitBytes?: number;
  responses: Record<number, ResponseDeclaration>;
  /** Problems beyond those that follow from the declaration. */
  errors?: number[];
  /** Default: POST is. `false` where the answer holds a secret. */
  idempotent?: boolean;
  /** `false`: the handler opens its own transactions, on `em`. */
  transaction?: boolean;
  /** A repeated POST with `Prefer: wait`: may give a newer answer than the stored one. */
  onReplay?(c: EndpointContext<z.output<P>>, first: EndpointResponse): Promise<EndpointResponse | void>;
  handler(c: EndpointContext<z.output<P>, z.output<Q>, z.output<B>>): Promise<EndpointResponse>;
}

/** With the types of its parts forgotten, for lists. */
export type Endpoint = EndpointDefinition;

/** Declares an endpoint; the handler's `params`, `query` and `body` have the types of their schemas. */
export function endpoint<
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
  B extends z.ZodType = z.ZodUndefined,
>(definition: EndpointDefinition<P, Q, B>): Endpoint {
  // Handlers take what their own schemas gave: the layer that calls them validates with exactly these.
  return definition as unknown as Endpoint;
}

export function media(types: Record<string, z.ZodType>): MediaResponse {
  return { media: types };
}

export function isMedia(declared: ResponseDeclaration): declared is MediaResponse {
  return declared !== null && 'media' in declared;
}

/** Media types of the request body. */
export function consumedTypes(endpoint: Endpoint): string[] {
  return endpoint.consumes ?? (endpoint.bodies ? Object.keys(endpoint.bodies) : ['application/json']);
}
