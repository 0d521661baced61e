/** Inbound webhooks: docs/events.md#inbound-webhooks. */
import type { Context } from 'koa';
import * as z from 'zod';

import { HOOK_REFUSALS, HOOK_SCHEMES } from '../../../contracts/hooks.ts';
import { heldBy } from '../../../domain/audit/write.ts';
import { checkQuota } from '../../../domain/quotas/check.ts';
import { holderOf } from '../../../domain/auth/ownership.ts';
import { AppError } from '../../../domain/errors.ts';
import { moveHook } from '../../../domain/hooks/move.ts';
import { receiveCall, type HookCall } from '../../../domain/hooks/receive.ts';
import {
  createHook,
  deleteHook,
  findHook,
  getHook,
  hookAddress,
  listHooks,
  noteRefusal,
  updateHook,
  type Hook,
  type HookFields,
} from '../../../domain/hooks/service.ts';
import { checkSecretLimit } from '../../../domain/limits.ts';
import { SECRET_NAME } from '../../../domain/secrets/service.ts';
import { destinationOf, moveNote, teamFor } from '../../../domain/teams/holding.ts';
import type { AppDeps } from '../../deps.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import {
  BODY_LIMIT_BYTES,
  decodeText,
  isJsonType,
  parseJson,
  readRawBody,
  unstorable,
} from '../../middleware/body.ts';
import { byId, readPage } from '../../paging.ts';
import { personName } from '../../person-names.ts';
import {
  eventSource,
  idParams,
  newOwner,
  pageQuery,
  personOrMe,
  text,
  timestamp,
  uuid,
} from '../../schemas.ts';

const TAGS = ['inbound webhooks'];
const DEFAULT_TOLERANCE_SECONDS = 300;
const MAX_TOLERANCE_SECONDS = 3_600;

const scheme = z.enum(HOOK_SCHEMES).meta({ description: 'How the sender signs its calls.' });
const secret = z
  .string()
  .regex(SECRET_NAME, 'must be the name of a secret')
  .meta({ description: 'Name of a secret of the owner or the team; its value signs the calls.' });
const formerSecret = secret
  .nullable()
  .meta({ description: 'Calls that are signed with it are taken too, during a rotation.' });
const eventType = text({ min: 1, max: 200 });
const toleranceSeconds = z
  .int()
  .min(1)
  .max(MAX_TOLERANCE_SECONDS)
  .meta({ description: 'How old, or ahead, the time of a signature may be. GitHub signs none.' });

const hookRecord = z
  .object({
    id: uuid,
    owner_id: uuid,
    owner_name: personName,
    team_id: uuid.nullable(),
    name: z.string(),
    url: z.string().meta({ description: 'The address to give to the sender.' }),
    scheme,
    secret,
    former_secret: formerSecret,
    source: z.string(),
    event_type: z.string().nullable(),
    tolerance_seconds: z.int(),
    active: z.boolean(),
    last_received_at: timestamp.nullable(),
    last_refused_at: timestamp.nullable().meta({ description: 'When a call was refused last.' }),
    last_refusal: z
      .enum(HOOK_REFUSALS)
      .nullable()
      .meta({ description: 'Why it was refused. Of several within five seconds, the first.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'InboundWebhook' });

/** Of a new inbound webhook. */
export const hookFields = {
  name: text({ min: 1, max: 255 }),
  scheme,
  secret,
  former_secret: formerSecret.optional(),
  source: eventSource.nullish().meta({ description: "Of the events. Default: the webhook's own address." }),
  event_type: eventType.nullish().meta({
    description: 'Of the events. Default: from the call, such as `com.github.pull_request.opened`.',
  }),
  tolerance_seconds: toleranceSeconds.optional(),
  active: z.boolean().optional(),
};

const newHook = z.object(hookFields);
const hookChanges = newHook.partial();

/** With its defaults. */
export const fieldsOfNewHook = (body: z.output<typeof newHook>): HookFields => ({
  name: body.name,
  scheme: body.scheme,
  secret: body.secret,
  former_secret: body.former_secret ?? null,
  source: body.source ?? null,
  event_type: body.event_type ?? null,
  tolerance_seconds: body.tolerance_seconds ?? DEFAULT_TOLERANCE_SECONDS,
  active: body.active ?? true,
});

const hookAnswer = z
  .object({ challenge: z.string().optional().meta({ description: 'What Slack asked for.' }) })
  .meta({ id: 'HookAnswer' });

export function hookEndpoints(deps: AppDeps): Endpoint[] {
  return [...manageEndpoints(deps), receiveEndpoint(deps)];
}

function manageEndpoints(deps: AppDeps): Endpoint[] {
  const baseUrl = deps.env.BASE_URL;
  const present = (hook: Hook): z.input<typeof hookRecord> => presentHook(hook, baseUrl);
  return [
    endpoint({
      method: 'GET',
      path: '/hooks',
      operationId: 'listHooks',
      summary: "List the caller's inbound webhooks and those of their teams, newest first; admins see all",
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, owner_id: personOrMe.optional(), team_id: uuid.optional() }),
      responses: { 200: z.array(hookRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listHooks(c.em, c.actor, filter, page),
        );
        return { status: 200, body: items.map(present), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/hooks',
      operationId: 'createHook',
      summary: 'Create an address to which another service sends its webhooks',
      description:
        'Each genuine call becomes an event of the owner or the team, as if sent with `POST /events`.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      body: newHook.extend({
        team_id: uuid.nullish().meta({ description: 'A team, whose secrets sign the calls.' }),
      }),
      record: hookRecord,
      responses: { 201: hookRecord },
      errors: [403, 409],
      handler: async (c) => {
        const context = { em: c.em, encryption: deps.encryption, baseUrl };
        const team_id = await teamFor(c.em, c.actor, c.body.team_id);
        const id = await createHook(context, c.actor, { ...fieldsOfNewHook(c.body), team_id });
        await checkQuota(c.em, deps.env, 'inbound_webhooks', team_id ?? c.actor.id);
        const hook = await getHook(c.em, c.actor, id);
        return {
          status: 201,
          body: present(hook),
          headers: { Location: `${c.baseUrl}/hooks/${id}`, ETag: tagOf(hook) },
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/hooks/{id}',
      operationId: 'getHook',
      summary: 'Get an inbound webhook',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: hookRecord },
      handler: async (c) => {
        const hook = await getHook(c.em, c.actor, c.params.id);
        return { status: 200, body: present(hook), headers: { ETag: tagOf(hook) } };
      },
    }),
    endpoint({
      method: 'PATCH',
      path: '/hooks/{id}',
      operationId: 'updateHook',
      summary: 'Change an inbound webhook',
      description: 'To rotate a secret, name the new one as `secret` and the old one as `former_secret`.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: hookChanges.extend({
        team_id: uuid.nullish().meta({
          description: 'Gives it to a team, or with null to the caller, with the secrets that it names.',
        }),
        owner_id: newOwner,
      }),
      record: hookRecord,
      consumes: ['application/json', 'application/merge-patch+json'],
      responses: { 200: hookRecord },
      errors: [403, 409, 412],
      handler: async (c) => {
        const before = await getHook(c.em, c.actor, c.params.id, { lock: true });
        checkIfMatch(c.ctx, tagOf(before));
        const fields = changedFields(before, c.body);
        const to = await destinationOf(c.em, c.actor, before, c.body);
        const isMoved = to !== null;
        const held = isMoved
          ? await moveHook(c.em, deps.encryption, c.actor, { hook: before, fields, to })
          : before;
        const context = { em: c.em, encryption: deps.encryption, baseUrl };
        await updateHook(context, c.actor, held, fields, { isMoved });
        if (isMoved) {
          c.audit.note(moveNote(before, held));
          await checkSecretLimit(c.em, deps.env, holderOf(held));
          await checkQuota(c.em, deps.env, 'inbound_webhooks', holderOf(held), { isMoved });
        }
        const hook = await getHook(c.em, c.actor, c.params.id);
        return { status: 200, body: present(hook), headers: { ETag: tagOf(hook) } };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/hooks/{id}',
      operationId: 'deleteHook',
      summary: 'Delete an inbound webhook; its events stay',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      responses: { 204: null },
      errors: [412],
      handler: async (c) => {
        const hook = await getHook(c.em, c.actor, c.params.id, { lock: true });
        checkIfMatch(c.ctx, tagOf(hook));
        c.audit.note(heldBy(hook.team_id));
        await deleteHook(c.em, hook);
        return { status: 204 };
      },
    }),
  ];
}

/** What is not named stays as it is. */
function changedFields(before: Hook, body: z.output<typeof hookChanges>): HookFields {
  return {
    name: body.name ?? before.name,
    scheme: body.scheme ?? before.scheme,
    secret: body.secret ?? before.secret,
    former_secret: body.former_secret === undefined ? before.former_secret : body.former_secret,
    source: body.source === undefined ? before.source : body.source,
    event_type: body.event_type === undefined ? before.event_type : body.event_type,
    tolerance_seconds: body.tolerance_seconds ?? before.tolerance_seconds,
    active: body.active ?? before.active,
  };
}

function receiveEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/hooks/{id}',
    operationId: 'receiveHook',
    summary: 'Take the call of another service',
    description:
      'Needs no token, but a signature. Whatever is wrong (no such webhook, a wrong or old signature, an ' +
      'inactive webhook), the answer is the same 401. A repeated call is answered like the first one.',
    tags: TAGS,
    role: 'public',
    params: z.object({ id: z.string().max(255) }),
    rawBody: true,
    transaction: false,
    idempotent: false,
    consumes: ['*/*'],
    bodies: { '*/*': z.string().meta({ format: 'binary' }) },
    responses: {
      200: media({ 'application/json': hookAnswer, 'text/plain': z.string().max(0) }),
      202: hookAnswer,
    },
    errors: [401],
    handler: async (c) => {
      const call = await readCall(c.ctx);
      const received = await c.em.transactional(async (em) => {
        const hook = uuid.safeParse(c.params.id).success ? await findHook(em, c.params.id) : null;
        const taken = await receiveCall(em, deps.encryption, hook, call);
        if (!('refused' in taken)) await c.audit.write(em);
        return taken;
      });
      if ('refused' in received) {
        const { id } = c.params;
        // Not before the answer, whose time must not tell whether there is such a webhook.
        if (uuid.safeParse(id).success)
          void noteRefusal(c.em.fork(), id, received.refused).catch((error: unknown) =>
            deps.logger.warn({ err: error, hook: id }, 'cannot note a refused call'),
          );
        throw new AppError('unauthorized', 'invalid_signature', 'The call is not signed as it has to be.');
      }
      if ('challenge' in received) return { status: 200, body: { challenge: received.challenge } };
      // Slack takes nothing else for an acknowledgement.
      if (received.scheme === 'slack') return { status: 200, type: 'text/plain', body: '' };
      return { status: 202, body: {} };
    },
  });
}

/** @throws 400, 413 */
async function readCall(ctx: Context): Promise<HookCall> {
  const raw = await readRawBody(ctx, BODY_LIMIT_BYTES);
  const { bytes: body, type: contentType } = raw;
  const data = raw.turn.measure(() => readData(body, contentType));
  return { body, contentType, data, header: (name) => ctx.get(name) };
}

/** What cannot be read as its type says is kept as bytes: whether the call is genuine is asked first. */
function readData(body: Buffer, contentType: string): unknown {
  if (body.length === 0) return undefined;
  try {
    const isJson = isJsonType(contentType);
    const isForm = contentType === 'application/x-www-form-urlencoded';
    if (!isJson && !isForm && !contentType.startsWith('text/')) return body;
    const decoded = decodeText(body);
    const data = isJson ? parseJson(decoded) : isForm ? readForm(decoded) : decoded;
    return unstorable(data).length === 0 ? data : body;
  } catch (error) {
    if (error instanceof AppError) return body;
    throw error;
  }
}

/** GitHub and Slack send JSON as the only field, named `payload`, where they send forms. */
function readForm(text: string): unknown {
  const fields = Object.fromEntries(new URLSearchParams(text));
  const { payload } = fields;
  return payload !== undefined && Object.keys(fields).length === 1 ? parseJson(payload) : fields;
}

function tagOf({ id, updated_at: at }: Hook): string {
  return etag('hook', id, new Date(at));
}

function presentHook(hook: Hook, baseUrl: string): z.input<typeof hookRecord> {
  const { id, owner_id, team_id, name, scheme: signed, secret: current, former_secret, event_type } = hook;
  const { last_received_at: lastAt, last_refused_at: refusedAt } = hook;
  return {
    id,
    owner_id,
    team_id,
    name,
    url: hookAddress(baseUrl, id),
    scheme: signed,
    secret: current,
    former_secret,
    source: hook.source,
    event_type,
    tolerance_seconds: hook.tolerance_seconds,
    active: hook.active,
    last_received_at: lastAt === null ? null : new Date(lastAt).toISOString(),
    last_refused_at: refusedAt === null ? null : new Date(refusedAt).toISOString(),
    last_refusal: hook.last_refusal,
    created_at: new Date(hook.created_at).toISOString(),
    updated_at: new Date(hook.updated_at).toISOString(),
  };
}
