/** What a request writes to the audit log. */
import type { Context } from 'koa';

import type { EntityManager } from '../db/orm.ts';
import { changedFields } from '../db/entity-changes.ts';
import { FIRST_PARTY_CLIENT, type ExpiringClaims } from '../domain/auth/access-token.ts';
import { anonymous, type Actor } from '../domain/auth/actor.ts';
import { changesOf } from '../domain/audit/changes.ts';
import {
  auditEntry,
  writeAudit,
  writeLastAudit,
  type AuditCredential,
  type AuditData,
  type AuditNote,
  type AuditOrigin,
  type AuditVia,
} from '../domain/audit/write.ts';
import type { WorkerCaller } from '../domain/jobs/worker-tokens.ts';
import type { AuditTrail, Endpoint, EndpointResponse } from './endpoint.ts';

export function originOf(ctx: Context, via: AuditVia = 'api'): AuditOrigin {
  const actor: Actor | undefined = ctx.state['actor'];
  const claims: ExpiringClaims | undefined = ctx.state['claims'];
  const worker: WorkerCaller | undefined = ctx.state['worker'];
  return {
    ...originOfCaller(actor ?? anonymous, claims, via),
    ...(worker === undefined
      ? {}
      : { actorName: worker.name, credential: 'worker' as const, credentialId: worker.holder }),
    address: ctx.ip,
    userAgent: ctx.get('user-agent') || null,
    requestId: ctx.state['requestId'] ?? null,
  };
}

export function originOfCaller(
  actor: Actor,
  claims: ExpiringClaims | undefined,
  via: AuditVia,
): Pick<AuditOrigin, 'actorId' | 'actorName' | 'credential' | 'credentialId' | 'via'> {
  const isKnown = actor !== anonymous;
  return {
    actorId: isKnown ? actor.id : null,
    actorName: isKnown ? actor.username : null,
    credential: claims === undefined ? 'none' : credentialOf(actor, claims),
    credentialId: claims === undefined ? null : credentialIdOf(actor, claims),
    via,
  };
}

function credentialOf(actor: Actor, claims: ExpiringClaims): AuditCredential {
  if (actor.accessToken === true) return 'token';
  return claims.client_id === FIRST_PARTY_CLIENT || actor.client !== undefined ? 'session' : 'client';
}

/** A machine client has no session: each of its tokens has an id of its own. */
function credentialIdOf(actor: Actor, claims: ExpiringClaims): string {
  return credentialOf(actor, claims) === 'client' ? claims.client_id : claims.sid;
}

/** The trail of one request to an endpoint. */
export class EndpointTrail implements AuditTrail {
  readonly #endpoint: Endpoint;
  readonly #ctx: Context;
  #noted: Partial<AuditNote> = {};
  #written = 0;

  constructor(endpoint: Endpoint, ctx: Context) {
    this.#endpoint = endpoint;
    this.#ctx = ctx;
  }

  note(note: Partial<AuditNote>): void {
    this.#noted = merged(this.#noted, note);
  }

  async write(em: EntityManager, note: Partial<AuditNote> = {}): Promise<void> {
    await this.#save(writeAudit, em, note);
  }

  row(note: Partial<AuditNote>): string {
    this.#written += 1;
    return JSON.stringify(auditEntry(originOf(this.#ctx), this.#entry(note)));
  }

  /**
   * Writes the request's entry, unless the handler has. A page or form that says no has changed nothing.
   * @param isLast nothing follows in the transaction, so the entry may commit it
   */
  async close(
    em: EntityManager,
    request: { body: unknown },
    response: EndpointResponse,
    isLast: boolean,
  ): Promise<void> {
    if (this.#endpoint.audit === false || this.#endpoint.method === 'GET' || this.#written > 0) return;
    if (response.status >= 400) return;
    const data = dataOf(request.body, changedFields(em));
    const note = merged({ data }, createdIn(this.#endpoint, response));
    await this.#save(isLast ? writeLastAudit : writeAudit, em, note);
  }

  async #save(write: typeof writeAudit, em: EntityManager, note: Partial<AuditNote>): Promise<void> {
    this.#written += 1;
    await write(em, originOf(this.#ctx), this.#entry(note));
  }

  #entry(note: Partial<AuditNote>): AuditNote {
    const said = merged(merged(this.#object(), note), this.#noted);
    return { action: actionOf(this.#endpoint), ...said };
  }

  #object(): Pick<AuditNote, 'objectType' | 'objectId' | 'data'> {
    const { path } = this.#endpoint;
    // Addresses that prove something are secrets.
    const params = Object.entries<string>(this.#ctx['params'] ?? {}).filter(([name]) => !SECRET.has(name));
    const [first, ...rest] = params;
    return {
      objectType: objectTypeOf(path),
      objectId: first?.[1] ?? null,
      ...(rest.length === 0 ? {} : { data: { part: Object.fromEntries(rest) } }),
    };
  }
}

const SECRET: ReadonlySet<string> = new Set(['token', 'capability']);
const MAX_FIELDS = 50;
const MAX_FIELD_NAME = 100;

function merged(left: Partial<AuditNote>, right: Partial<AuditNote>): Partial<AuditNote> {
  return { ...left, ...right, data: { ...left.data, ...right.data } };
}

function actionOf({ auditAction, operationId }: Endpoint): string {
  return auditAction ?? operationId;
}

/** What an entry says of a request's body, and of the rows that it has changed. */
export function dataOf(body: unknown, changed: Parameters<typeof changesOf>[1] = []): AuditData {
  return { ...fieldsOf(body), ...changesOf(body, changed) };
}

function fieldsOf(body: unknown): { fields?: string[] } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return {};
  const names = Object.keys(body);
  return names.length === 0
    ? {}
    : { fields: names.slice(0, MAX_FIELDS).map((name) => name.slice(0, MAX_FIELD_NAME)) };
}

/** The new record's id, where the path names none. */
function createdIn({ path }: Endpoint, { body, status }: EndpointResponse): Partial<AuditNote> {
  if (typeof body !== 'object' || body === null || !('id' in body) || typeof body.id !== 'string') return {};
  if (!path.includes('{')) return { objectId: body.id };
  return status === 201 ? { data: { created: body.id } } : {};
}

const TYPES: Readonly<Record<string, string>> = {
  hitl: 'human_task',
  marketplace: 'item',
  'event-sources': 'event_source',
  apply: 'applied_set',
};

/** From the path: `/agents/{id}/skills` is about an agent, `/users/me/clients/{id}` about a client. */
function objectTypeOf(path: string): string | null {
  const segments = path.split('/').slice(1);
  const own = segments[0] === 'users' && segments[1] === 'me' ? segments.slice(2) : segments;
  const word = (own[0] === 'auth' || own[0] === 'console' ? own[1] : own[0]) ?? 'user';
  return TYPES[word] ?? word.replace(/s$/, '').replaceAll('-', '_');
}
