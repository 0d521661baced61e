/**
 * SCIM 2.0 at `/scim/v2` (RFC 7643, RFC 7644): an issuer provisions users and groups. Shapes and errors are
 * SCIM's, so its paths are not declared as endpoints (docs/single-sign-on.md#scim).
 */
import type { Context, Middleware } from 'koa';
import * as z from 'zod';

import { isRecord } from '../../contracts/is-record.ts';
import { isUuid } from '../../contracts/uuid.ts';
import { writeAudit, type AuditData, type AuditOrigin } from '../../domain/audit/write.ts';
import { AppError } from '../../domain/errors.ts';
import { getIssuer, type Issuer } from '../../domain/identity/issuers.ts';
import { unmeasured, type Measure } from '../../domain/measure.ts';
import { ScimError } from '../../domain/scim/errors.ts';
import {
  deleteScimGroup,
  getScimGroup,
  listScimGroups,
  putScimGroup,
  type ScimGroup,
} from '../../domain/scim/groups.ts';
import { applyPatch } from '../../domain/scim/patch.ts';
import { issuerOfToken } from '../../domain/scim/tokens.ts';
import {
  createScimUser,
  deleteScimUser,
  getScimUser,
  listScimUsers,
  replaceScimUser,
  type Provisioning,
  type ScimPage,
} from '../../domain/scim/users.ts';
import type { ScimUser } from '../../domain/scim/user-rows.ts';
import { holdTeamGroups } from '../../domain/teams/follow-groups.ts';
import { lockTeamsOf } from '../../domain/teams/hand-over.ts';
import { originOf } from '../audit-trail.ts';
import type { AppDeps } from '../deps.ts';
import { decodeText, isStorable, parseJson, readRawBody, unstorable } from '../middleware/body.ts';
import { problemOf, toAppError } from '../middleware/errors.ts';
import { noteIdentified } from '../middleware/identify-again.ts';
import { countRequest } from '../middleware/rate-limit.ts';
import { inTransaction } from '../transaction.ts';
import { discoveryOf, MAX_PAGE } from './discovery.ts';

const BASE = /^\/scim\/v2(\/.*)?$/;
const BODY_LIMIT_BYTES = 2 * 1024 * 1024;
const MAX_OPERATIONS = 1_000;
const JSON_TYPES = new Set(['application/scim+json', 'application/json', '']);
const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

interface Call extends Provisioning {
  ctx: Context;
  /** `https://…/scim/v2` */
  base: string;
  body: unknown;
  /** Work with the body counts as the client's. */
  measure: Measure;
}

interface Answer {
  status: number;
  body?: Record<string, unknown>;
  headers?: Record<string, string>;
}

export function scimMiddleware(deps: AppDeps): Middleware {
  const serve = async (ctx: Context, rest: string): Promise<void> => {
    const [, kind = '', id] = rest.split('/');
    ctx.state['route'] = /^(Users|Groups)$/.test(kind) ? `/scim/v2/${kind}${id ? '/{id}' : ''}` : '/scim/v2';
    try {
      const fork = () => deps.orm.em.fork();
      const sent = tokenOf(ctx);
      deps.addressLimit.admit(ctx.ip, sent);
      const token = await issuerOfToken(fork(), sent);
      deps.addressLimit[token === null ? 'disproved' : 'proved'](sent);
      if (token === null) {
        ctx.set(await deps.addressLimit.count(ctx.ip));
        throw tokenRequired();
      }
      noteIdentified(ctx, async () => {
        if ((await issuerOfToken(fork(), tokenOf(ctx))) === null) throw tokenRequired();
      });
      ctx.set(await countRequest(fork, { id: token.tokenId }, deps.env.RATE_LIMIT_PER_MINUTE));
      // Read before the transaction opens, so that a slow client holds no database connection.
      const { body, measure } = await readBody(ctx);
      const base = `${deps.env.BASE_URL}/scim/v2`;
      const answer = await inTransaction(fork, async (em) => {
        const issuer = await getIssuer(em, token.issuerId);
        // One change of an issuer at a time: groups change many users.
        if (ctx.method !== 'GET') {
          await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 2))', [issuer.id]);
          await holdTeamGroups(em);
        }
        const origin = originOfToken(ctx, issuer, token);
        const { SECOND_FACTOR_ROLES: secondFactorRoles } = deps.env;
        return dispatch({ ctx, em, issuer, origin, secondFactorRoles, base, body, measure }, kind, id);
      });
      send(ctx, answer);
    } catch (error) {
      refuse(ctx, deps, error);
    }
  };
  return (ctx, next) => {
    const [, rest] = BASE.exec(ctx.path) ?? [];
    return rest === undefined ? next() : serve(ctx, rest);
  };
}

function tokenRequired(): AppError {
  return new AppError('unauthorized', 'token_required', 'A SCIM token of an issuer is required.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="cadenza-scim"' },
  });
}

function originOfToken(ctx: Context, { name }: Issuer, { tokenId }: { tokenId: string }): AuditOrigin {
  return { ...originOf(ctx, 'scim'), actorName: name, credential: 'token', credentialId: tokenId };
}

function tokenOf(ctx: Context): string {
  return /^Bearer +([^\s]+) *$/i.exec(ctx.get('authorization'))?.[1] ?? '';
}

async function readBody(ctx: Context): Promise<Pick<Call, 'body' | 'measure'>> {
  if (!['POST', 'PUT', 'PATCH'].includes(ctx.method)) return { body: undefined, measure: unmeasured };
  const raw = await readRawBody(ctx, BODY_LIMIT_BYTES);
  if (!JSON_TYPES.has(raw.type)) throw new ScimError(400, 'Send application/scim+json.', 'invalidSyntax');
  const body = raw.turn.measure(() => {
    const value = parseJson(decodeText(raw.bytes));
    if (unstorable(value).length > 0)
      throw new ScimError(400, 'A text has a NUL character or an unpaired surrogate.', 'invalidValue');
    return value;
  });
  return { body, measure: raw.turn.measure };
}

async function dispatch(call: Call, kind: string, id: string | undefined): Promise<Answer> {
  if (kind === 'Users') return id ? oneUser(call, id) : users(call);
  if (kind === 'Groups') return id ? oneGroup(call, id) : groups(call);
  const found = call.ctx.method === 'GET' ? discoveryOf(call.base, kind, id) : null;
  if (found === null) throw new ScimError(404, 'There is no such resource.');
  return { status: 200, body: Array.isArray(found) ? listOf(found, found.length, 1) : found };
}

async function users(call: Call): Promise<Answer> {
  const { ctx, em, issuer, body } = call;
  if (ctx.method === 'POST') {
    const made = await createScimUser(call, body);
    await note(call, 'user', made.id, null, made);
    return shown(call, 'User', made, 201);
  }
  only(ctx, 'GET');
  const page = pageOf(ctx);
  const { total, users: found } = await listScimUsers(em, issuer, page);
  const resources = found.map((user) => resourceOf(call, 'User', user));
  return { status: 200, body: listOf(resources, total, page.startIndex) };
}

async function oneUser(call: Call, id: string): Promise<Answer> {
  const { ctx, em, issuer, body, measure } = call;
  // Teams are locked before accounts: a change may end memberships.
  if (ctx.method !== 'GET' && isUuid(id)) await lockTeamsOf(em, id);
  const user = await getScimUser(em, issuer, id, ctx.method !== 'GET');
  if (ctx.method === 'GET') return shown(call, 'User', user);
  checkVersion(ctx, user);
  switch (ctx.method) {
    case 'PUT':
    case 'PATCH': {
      const wanted =
        ctx.method === 'PUT' ? body : measure(() => applyPatch(user.resource, operationsOf(body)));
      const changed = await replaceScimUser(call, user, wanted);
      await note(call, 'user', id, user, changed);
      return shown(call, 'User', changed);
    }
    case 'DELETE':
      await deleteScimUser(call, user);
      await note(call, 'user', id, user, null);
      return { status: 204 };
    default:
      return methodRefusal();
  }
}

async function groups(call: Call): Promise<Answer> {
  const { ctx, em, issuer, body } = call;
  if (ctx.method === 'POST') {
    const made = await putScimGroup(call, null, body);
    await note(call, 'group', made.id, null, made);
    return shown(call, 'Group', made, 201);
  }
  only(ctx, 'GET');
  const page = pageOf(ctx);
  const { total, groups: found } = await listScimGroups(em, issuer, page, wantsMembers(ctx));
  const resources = found.map((group) => resourceOf(call, 'Group', group));
  return { status: 200, body: listOf(resources, total, page.startIndex) };
}

/** Entra asks without members, which may be many (RFC 7644 section 3.9). */
function wantsMembers({ query }: Context): boolean {
  const names = (given: string | string[] | undefined): string[] =>
    [given ?? '']
      .flat()
      .join(',')
      .split(',')
      .map((one) =>
        one
          .trim()
          .toLowerCase()
          .replace(/^urn:.*:/, '')
          .replace(/\..*$/, ''),
      )
      .filter((one) => one !== '');
  const wanted = names(query['attributes']);
  if (wanted.length > 0) return wanted.includes('members');
  return !names(query['excludedAttributes']).includes('members');
}

async function oneGroup(call: Call, id: string): Promise<Answer> {
  const { ctx, em, issuer, body, measure } = call;
  if (ctx.method === 'GET')
    return shown(call, 'Group', await getScimGroup(em, issuer, id, { withMembers: wantsMembers(ctx) }));
  const group = await getScimGroup(em, issuer, id, { lock: true });
  checkVersion(ctx, group);
  switch (ctx.method) {
    case 'PUT':
    case 'PATCH': {
      const wanted =
        ctx.method === 'PUT' ? body : measure(() => applyPatch(group.resource, operationsOf(body)));
      const changed = await putScimGroup(call, id, wanted);
      await note(call, 'group', id, group, changed);
      return shown(call, 'Group', changed);
    }
    case 'DELETE':
      await deleteScimGroup(call, id);
      await note(call, 'group', id, group, null);
      return { status: 204 };
    default:
      return methodRefusal();
  }
}

const ACTIONS: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'replace',
  PATCH: 'patch',
  DELETE: 'delete',
};
const MAX_FIELDS = 50;
const MAX_FIELD_NAME = 100;

/** Writes the change to the audit log, with values of harmless fields only. */
async function note(
  { ctx, em, issuer, origin, body }: Call,
  type: 'user' | 'group',
  id: string,
  before: ScimUser | ScimGroup | null,
  after: ScimUser | ScimGroup | null,
): Promise<void> {
  const [old, now] = [shownOf(type, before), shownOf(type, after)];
  const names = Object.keys({ ...old, ...now }).filter((name) => old[name] !== now[name]);
  const changes = Object.fromEntries(names.map((name) => [name, { old: old[name], new: now[name] }]));
  const fields = fieldsOf(body);
  const data: AuditData = { issuer: issuer.name, changes, ...(fields.length === 0 ? {} : { fields }) };
  const action = `scim_${ACTIONS[ctx.method] ?? 'change'}_${type}`;
  await writeAudit(em, origin, { action, objectType: type, objectId: id, data });
}

function shownOf(type: 'user' | 'group', record: ScimUser | ScimGroup | null): Record<string, unknown> {
  if (record === null) return {};
  const { active, displayName } = record.resource;
  return type === 'user' ? { status: active === true ? 'active' : 'disabled' } : { name: displayName };
}

/** Attributes of the body, or those that the operations of a PATCH name. */
function fieldsOf(body: unknown): string[] {
  if (!isRecord(body)) return [];
  const operations: unknown[] = Array.isArray(body['Operations']) ? body['Operations'] : [];
  const named = operations.flatMap((one) => {
    if (!isRecord(one)) return [];
    if (typeof one['path'] === 'string') return [withoutFilter(one['path'])];
    return isRecord(one['value']) ? Object.keys(one['value']) : [];
  });
  const names = operations.length === 0 ? Object.keys(body) : named;
  return [...new Set(names)].slice(0, MAX_FIELDS).map((name) => name.slice(0, MAX_FIELD_NAME));
}

/** `emails[type eq "work"].value` → `emails.value`. */
function withoutFilter(path: string): string {
  const [open, close] = [path.indexOf('['), path.lastIndexOf(']')];
  return open >= 0 && close > open ? path.slice(0, open) + path.slice(close + 1) : path;
}

const patchBody = z.looseObject({
  Operations: z
    .array(z.looseObject({ op: z.string(), path: z.string().optional(), value: z.unknown().optional() }))
    .min(1)
    .max(MAX_OPERATIONS),
});

function operationsOf(body: unknown): z.output<typeof patchBody>['Operations'] {
  const parsed = patchBody.safeParse(body);
  if (!parsed.success)
    throw new ScimError(400, `Send ${PATCH_SCHEMA} with 1 to ${MAX_OPERATIONS} Operations.`, 'invalidSyntax');
  return parsed.data.Operations;
}

function pageOf(ctx: Context): ScimPage {
  const number = (name: string, fallback: number): number => {
    const given = ctx.query[name];
    const value = typeof given === 'string' && given !== '' ? Number(given) : fallback;
    if (!Number.isInteger(value)) throw new ScimError(400, `${name} must be a whole number.`, 'invalidValue');
    return value;
  };
  const { filter } = ctx.query;
  if (typeof filter === 'string' && !isStorable(filter))
    throw new ScimError(400, 'The filter has a NUL character.', 'invalidFilter');
  return {
    filter: typeof filter === 'string' && filter !== '' ? filter : undefined,
    // RFC 7644 section 3.4.2.4: smaller values count as these.
    startIndex: Math.min(Math.max(number('startIndex', 1), 1), 10_000_000),
    count: Math.min(Math.max(number('count', 100), 0), MAX_PAGE),
  };
}

function listOf(resources: object[], total: number, startIndex: number): Record<string, unknown> {
  return {
    schemas: [LIST_SCHEMA],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}

function resourceOf(
  { base }: Call,
  resourceType: 'User' | 'Group',
  { id, resource, created_at: created, updated_at: updated }: ScimUser | ScimGroup,
): Record<string, unknown> {
  const meta = {
    resourceType,
    created: created.toISOString(),
    lastModified: updated.toISOString(),
    location: `${base}/${resourceType}s/${id}`,
    version: versionOf(updated),
  };
  return { ...resource, meta };
}

function shown(call: Call, type: 'User' | 'Group', record: ScimUser | ScimGroup, status = 200): Answer {
  const body = resourceOf(call, type, record);
  const location = `${call.base}/${type}s/${record.id}`;
  const headers = { ETag: versionOf(record.updated_at), ...(status === 201 ? { Location: location } : {}) };
  return { status, body, headers };
}

function versionOf(updated: Date): string {
  return `W/"${updated.getTime()}"`;
}

/** @throws ScimError 412 */
function checkVersion(ctx: Context, { updated_at: updated }: ScimUser | ScimGroup): void {
  const wanted = ctx.get('if-match').trim();
  if (wanted === '' || wanted === '*' || wanted.split(',').some((one) => one.trim() === versionOf(updated)))
    return;
  throw new ScimError(412, 'It was changed since you read it.');
}

function only(ctx: Context, method: string): void {
  if (ctx.method !== method) throw new ScimError(404, `This path supports ${method} and POST.`);
}

function methodRefusal(): Answer {
  return refusal(405, 'This path supports GET, PUT, PATCH and DELETE.');
}

function refusal(status: number, detail: string, scimType?: string): Answer {
  return {
    status,
    body: { schemas: [ERROR_SCHEMA], status: String(status), detail, ...(scimType ? { scimType } : {}) },
  };
}

function send(ctx: Context, { status, body, headers = {} }: Answer): void {
  ctx.status = status;
  ctx.set({ ...headers, 'Cache-Control': 'no-store' });
  if (!isRecord(body)) {
    ctx.body = null;
    ctx.status = status;
    return;
  }
  ctx.set('Content-Type', 'application/scim+json');
  ctx.body = JSON.stringify(body);
}

function refuse(ctx: Context, deps: AppDeps, error: unknown): void {
  if (ctx.headerSent) throw error;
  if (error instanceof ScimError) {
    send(ctx, refusal(error.status, error.message, error.scimType));
    return;
  }
  const known = toAppError(error);
  if (known === null || known.kind === 'unavailable')
    deps.logger.error({ err: error, request_id: ctx.state['requestId'] }, 'request failed');
  ctx.set(known?.headers ?? {});
  const { status, detail } = problemOf(ctx, known);
  send(ctx, refusal(status, detail));
}
