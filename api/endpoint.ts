/**
 * Each endpoint is one declaration. Routing, permissions, validation of requests and responses, transactions,
 * idempotency and the OpenAPI document all derive from it.
 */
import type { Context } from 'koa';
import * as z from 'zod';

import type { EntityManager } from '../db/orm.ts';
import type { Role } from '../contracts/roles.ts';
import type { Scope } from '../contracts/scopes.ts';
import type { AuditNote } from '../domain/audit/write.ts';
import type { Actor } from '../domain/auth/actor.ts';
import type { Checked } from '../domain/errors.ts';
import type { KeyedAnswer } from '../domain/hitl/decide-at-once.ts';
import type { Measure } from '../domain/measure.ts';
import type { YamlBody } from './yaml-body.ts';

/** `person`: no token may; `none`: the operation needs no log-in, or is about the credential itself. */
export type EndpointScope = Scope | 'person' | 'none';

/**
 * Where an operation names the workflow that a token may be restricted to: in the path, by the run in the
 * path, or in the query, as `workflow_id` or `workflow`.
 */
export type WorkflowIn = 'workflow' | 'run' | 'query' | 'workflowQuery';

/** What a request writes to the audit log. */
export interface AuditTrail {
  /** Adds to the entry that is written at the end of the request's transaction. */
  note(note: Partial<AuditNote>): void;
  /** Writes an entry in a transaction of the handler's own. */
  write(em: EntityManager, note?: Partial<AuditNote>): Promise<void>;
  /** The entry as JSON of its columns, for a statement that writes it together with the change. */
  row(note: Partial<AuditNote>): string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request whose answer is kept for repetitions: by the statement of `atOnce`, or after the commit. */
export interface KeyedRequest {
  /** @param response with the names of people or without */
  answer(response: EndpointResponse): Promise<KeyedAnswer>;
}

/**
 * A response that is not JSON: `media({ 'image/svg+xml': z.string() })`; `*\/*` stands for any type. Strings
 * are validated, streams and buffers are not.
 */
export interface MediaResponse {
  media: Record<string, z.ZodType>;
}

/** `null` means no body. */
export type ResponseDeclaration = z.ZodType | MediaResponse | null;

export interface EndpointResponse {
  status: number;
  /** JSON value, or a string, Buffer or stream if `type` is set. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Media type; default JSON. */
  type?: string;
}

export interface EndpointContext<P = unknown, Q = unknown, B = unknown, R = unknown> {
  /**
   * Runs in the request's transaction for mutating methods. For GET it is a fresh fork without a transaction.
   */
  em: EntityManager;
  actor: Actor;
  params: P;
  /**
   * `query` and `body` are validated on first access: 400, 413 and 415, then 422. So load what the path names
   * (404) and check its state (409) before reading `body`. Parts that the handler never reads are validated
   * after it returns.
   */
  readonly query: Q;
  readonly body: B;
  /** What `prepare` of the endpoint returned; undefined if it refused. */
  readonly prepared: R | undefined;
  /** Throws 400, 413 or 415 if the body is unreadable. Call it after loading and before state checks. */
  checkSyntax(): void;
  /** The body, or its 422 as a value, to throw after state checks. Throws as `checkSyntax` does. */
  readBody(): Checked<B>;
  /** The body as it was written, if it is YAML. */
  readonly yaml: YamlBody | null;
  /** The request's entry in the audit log. */
  readonly audit: AuditTrail;
  /** Of a request with an `Idempotency-Key`; else null. */
  readonly keyed: KeyedRequest | null;
  /** Does work whose effort depends on the body, and counts its time as the caller's. */
  readonly measure: Measure;
  /** Counts work that waits for the database in between, so that it cannot be measured. */
  readonly count: (ms: number) => void;
  ctx: Context;
  requestId: string;
  /** Public base URL of this API, without a trailing slash. */
  baseUrl: string;
  /**
   * Registers work to run after the commit, in order. A returned response replaces the handler's. A failure
   * is logged and does not change the response.
   */
  afterCommit(action: () => Promise<EndpointResponse | void>): void;
}

export interface EndpointDefinition<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodType = z.ZodType,
  R = unknown,
> {
  method: Method;
  /** Path as in OpenAPI: `/agents/{id}`. It is served below `/` and `/api/v1`. */
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  /** Minimum role; `public` needs no token. */
  role: Role | 'public';
  /** The role that an OAuth client needs, where it is more than a user needs: for changes by viewers. */
  clientRole?: Role;
  /** The scope that a token needs. Default: that of the endpoint's group (api/routes/index.ts). */
  scope?: EndpointScope;
  /** Path of the resource whose own tokens (RFC 8707) count here too. Such an endpoint takes no cookies. */
  resource?: string;
  /** Where the request names the workflow that a token may be restricted to. */
  workflowIn?: WorkflowIn;
  /** Default: each change is in the audit log, under `operationId`. `false` needs a reason. */
  audit?: false;
  /** Another name for it in the audit log. */
  auditAction?: string;
  /**
   * The role may also be one in a team: the handler checks that it is the object's team. What belongs to
   * nobody's team then counts as another's (`Actor.teamsOnly`).
   */
  inTeams?: boolean;
  /** Token that is accepted in place of a user's access token, for machines that cannot log in. */
  serviceToken?: string;
  /**
   * Tokens of external workers are accepted, too; the handler checks which agents they serve. `kept`: a token
   * that was checked some seconds ago is not looked up again.
   */
  workerToken?: 'kept' | 'read';
  /** A health probe: monitoring calls it constantly, so it is exempt from rate limits. */
  probe?: boolean;
  /**
   * Of a public endpoint whose path is a proof: what it proves, or null. Such requests are limited by that,
   * and not by the address that they come from.
   */
  proof?: (params: Readonly<Record<string, string>>) => Promise<string | null>;
  /** Accepts requests without a token as `anonymous`. A token, if sent, identifies its user. */
  anonymousToo?: boolean;
  /** An invalid value is a 404, since no record can have that name. */
  params?: P;
  /** Unknown parameters are a 400 that names them. */
  query?: Q;
  /** Unknown fields are a 422 that names them. A missing body counts as `{}`. */
  body?: B;
  /** Instead of `body`: one schema per media type. */
  bodies?: Record<string, B>;
  /**
   * The record that clients read at this path. Its fields that `body` lacks are ignored in requests instead
   * of rejected.
   */
  record?: z.ZodObject;
  /** Accepted media types; the default is JSON in all its `+json` forms. */
  consumes?: string[];
  /** YAML is accepted too: of the same object, and with `definition` also the bare definition. */
  yaml?: 'object' | 'definition';
  /**
   * The handler reads `ctx.req` itself, and `bodies` is documentation only. With `idempotent: true` the
   * handler also stores the idempotency key itself.
   */
  rawBody?: boolean;
  /** Default 2 MiB. */
  bodyLimitBytes?: number;
  responses: Record<number, ResponseDeclaration>;
  /**
   * Request headers that the handler reads. `Idempotency-Key` and `If-Match` are derived (the latter from 412
   * in `errors`).
   */
  headers?: readonly HeaderName[];
  /** Error statuses beyond those that follow from the declaration. */
  errors?: number[];
  /** Default: true for POST. Set `false` if the response contains a secret. */
  idempotent?: boolean;
  /** `false`: the handler opens its own transactions, on `em`. */
  transaction?: boolean;
  /**
   * Called when an idempotent POST is repeated with `Prefer: wait`. It may return a newer response than the
   * stored one.
   */
  onReplay?(c: EndpointContext<z.output<P>>, first: EndpointResponse): Promise<EndpointResponse | void>;
  /**
   * Called before the transaction opens, for what takes long, such as requests to others. `em` is a fork
   * without a transaction. Its refusals are dropped: the handler makes them in its own order.
   */
  prepare?(c: EndpointContext<z.output<P>, z.output<Q>, z.output<B>>): Promise<R>;
  /**
   * Tried before the handler: makes the change and its entry in the audit log in one statement, without a
   * transaction around it. Null: nothing has changed, and the handler follows. It reads the body before the
   * statement. With an `Idempotency-Key` the statement claims it and keeps the answer (`keyed`), or changes
   * nothing if the key is in use; a refusal is then left to the handler, too.
   */
  atOnce?(c: EndpointContext<z.output<P>, z.output<Q>, z.output<B>>): Promise<EndpointResponse | null>;
  handler(c: EndpointContext<z.output<P>, z.output<Q>, z.output<B>, R>): Promise<EndpointResponse>;
}

type HeaderName = 'Prefer' | 'Last-Event-ID' | 'If-None-Match' | 'Range';

/** An endpoint without its type parameters, for lists. */
export type Endpoint = EndpointDefinition;

/** Declares an endpoint; the handler's `params`, `query` and `body` have the types of their schemas. */
export function endpoint<
  P extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
  B extends z.ZodType = z.ZodUndefined,
  R = undefined,
>(definition: EndpointDefinition<P, Q, B, R>): Endpoint {
  // Safe: the router validates requests with exactly these schemas before it calls the handler.
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
  const types = endpoint.consumes ?? (endpoint.bodies ? Object.keys(endpoint.bodies) : ['application/json']);
  return endpoint.yaml === undefined ? types : [...types, YAML];
}

/** RFC 9512. */
export const YAML = 'application/yaml';
