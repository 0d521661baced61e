/** External issuers, managed by administrators: docs/single-sign-on.md. */
import * as z from 'zod';

import { claimMapping } from '../../../contracts/identity.ts';
import { IdentityRefusal } from '../../../contracts/identity-refusal.ts';
import { checkFreshLogin } from '../../../domain/auth/clients.ts';
import { checkPerson } from '../../../domain/auth/own-sessions.ts';
import { AppError, conflict } from '../../../domain/errors.ts';
import {
  accessOf,
  deleteIssuer,
  getIssuer,
  listChoices,
  listIssuers,
  putIssuer,
  type Issuer,
} from '../../../domain/identity/issuers.ts';
import { auditFollowed } from '../../../domain/teams/audit-followed.ts';
import { lockTeamGroups } from '../../../domain/teams/follow-groups.ts';
import { originOf } from '../../audit-trail.ts';
import type { AppDeps } from '../../deps.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { emptyBody, idParams, pageQuery } from '../../schemas.ts';
import { issuerFields, issuerRecord, mappingPatch, presentIssuer, TAGS } from './schemas.ts';

const DEFAULT_SCOPES = ['openid', 'profile', 'email'];

const choice = z.object({ name: z.string(), title: z.string() }).meta({ id: 'LogInChoice' });
const choices = z
  .object({
    issuers: z.array(choice),
    password_links: z
      .boolean()
      .meta({ description: 'Whether who has forgotten a password may ask for a link by mail.' }),
  })
  .meta({ id: 'LogInChoices' });
const facts = z
  .object({
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    jwks_uri: z.string(),
    end_session_endpoint: z.string().nullable(),
    userinfo_endpoint: z.string().nullable(),
    keys: z.int().meta({ description: 'Number of keys in its key set.' }),
  })
  .meta({ id: 'IssuerFacts' });

export function issuerEndpoints(
  deps: Pick<AppDeps, 'env' | 'encryption' | 'identities' | 'mailer'>,
): Endpoint[] {
  return [
    choicesEndpoint(deps),
    ...readEndpoints(deps),
    createEndpoint(deps),
    updateEndpoint(deps),
    deleteEndpoint(deps),
  ];
}

function choicesEndpoint({ mailer: { mailer } }: Pick<AppDeps, 'mailer'>): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/auth/issuers',
    operationId: 'listLogInChoices',
    summary: 'List what the log-in screen offers: issuers, and a link after a password was forgotten',
    description: 'A browser logs in at `/auth/sso/{name}`.',
    tags: TAGS,
    role: 'public',
    responses: { 200: choices },
    handler: async (c) => ({
      status: 200,
      body: { issuers: await listChoices(c.em), password_links: mailer !== null },
      headers: { 'Cache-Control': 'no-store' },
    }),
  });
}

function readEndpoints({ env, encryption, identities }: Pick<AppDeps, 'env' | 'encryption' | 'identities'>) {
  return [
    endpoint({
      method: 'GET',
      path: '/identity-issuers',
      operationId: 'listIssuers',
      summary: 'List the external issuers, oldest first',
      tags: TAGS,
      role: 'admin',
      query: z.object(pageQuery),
      responses: { 200: z.array(issuerRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page) => listIssuers(c.em, page));
        return { status: 200, body: items.map((one) => presentIssuer(one, env.BASE_URL)), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/identity-issuers/{id}',
      operationId: 'getIssuer',
      summary: 'Get an external issuer',
      tags: TAGS,
      role: 'admin',
      params: idParams,
      responses: { 200: issuerRecord },
      handler: async (c) => {
        const issuer = await getIssuer(c.em, c.params.id);
        return { status: 200, body: presentIssuer(issuer, env.BASE_URL), headers: { ETag: tagOf(issuer) } };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/identity-issuers/{id}/check',
      operationId: 'checkIssuer',
      // It changes nothing.
      audit: false,
      summary: 'Read the configuration and the keys of an issuer now',
      description: 'It answers 409 `issuer_unreachable` or `invalid_answer` with the reason.',
      tags: TAGS,
      role: 'admin',
      params: idParams,
      body: emptyBody,
      responses: { 200: facts },
      errors: [409],
      idempotent: false,
      transaction: false,
      handler: async (c) => {
        const issuer = await getIssuer(c.em, c.params.id);
        c.checkSyntax();
        try {
          return { status: 200, body: await identities.check(await accessOf(c.em, encryption, issuer)) };
        } catch (error) {
          if (error instanceof IdentityRefusal) throw conflict(error.code, error.message);
          throw error;
        }
      },
    }),
  ];
}

function createEndpoint({ env, encryption }: Pick<AppDeps, 'env' | 'encryption'>): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/identity-issuers',
    operationId: 'createIssuer',
    scope: 'person',
    summary: 'Add an external OpenID Connect issuer',
    description:
      'Only a person may do this (403 `person_required`), in a session at most 5 minutes old ' +
      '(401 `login_too_old`). There are at most 50 issuers.',
    tags: TAGS,
    role: 'admin',
    body: z.object(issuerFields),
    record: issuerRecord,
    responses: { 201: issuerRecord },
    errors: [403, 409],
    idempotent: false,
    handler: async (c) => {
      checkFreshLogin(claimsOf(c.ctx));
      const { client_secret: secret, ...body } = c.body;
      const fields = {
        ...body,
        jwks_uri: body.jwks_uri ?? null,
        scopes: body.scopes ?? DEFAULT_SCOPES,
        mapping: claimMapping.parse(body.mapping ?? {}),
        creates_users: body.creates_users ?? true,
        external_id_claim: body.external_id_claim ?? null,
        audiences: body.audiences ?? [],
        token_types: body.token_types ?? ['at+jwt'],
        enabled: body.enabled ?? true,
        from_settings: false,
      };
      const id = await putIssuer(c.em, encryption, fields, { secret: secret ?? null });
      const issuer = await getIssuer(c.em, id);
      return {
        status: 201,
        body: presentIssuer(issuer, env.BASE_URL),
        headers: { Location: `/identity-issuers/${id}`, ETag: tagOf(issuer) },
      };
    },
  });
}

function updateEndpoint({ env, encryption }: Pick<AppDeps, 'env' | 'encryption'>): Endpoint {
  return endpoint({
    method: 'PATCH',
    path: '/identity-issuers/{id}',
    operationId: 'updateIssuer',
    scope: 'person',
    summary: 'Change or disable an external issuer',
    description:
      'A new mapping takes effect at the next log-in of each user. The sessions of a disabled issuer end. ' +
      'Needs a session at most 5 minutes old (401 `login_too_old`).',
    tags: TAGS,
    role: 'admin',
    params: idParams,
    body: z.object({ ...issuerFields, mapping: mappingPatch }).partial(),
    record: issuerRecord,
    consumes: ['application/json', 'application/merge-patch+json'],
    responses: { 200: issuerRecord },
    errors: [403, 409, 412],
    handler: async (c) => {
      const before = await getIssuer(c.em, c.params.id, true);
      checkFreshLogin(claimsOf(c.ctx));
      c.checkSyntax();
      checkIfMatch(c.ctx, tagOf(before));
      checkOwn(before);
      const { client_secret: secret, ...body } = c.body;
      const fields = {
        name: body.name ?? before.name,
        title: body.title ?? before.title,
        issuer: body.issuer ?? before.issuer,
        client_id: body.client_id ?? before.client_id,
        jwks_uri: body.jwks_uri === undefined ? before.jwks_uri : body.jwks_uri,
        scopes: body.scopes ?? before.scopes,
        mapping: claimMapping.parse({ ...before.mapping, ...body.mapping }),
        creates_users: body.creates_users ?? before.creates_users,
        audiences: body.audiences ?? before.audiences,
        token_types: body.token_types ?? before.token_types,
        external_id_claim:
          body.external_id_claim === undefined ? before.external_id_claim : body.external_id_claim,
        enabled: body.enabled ?? before.enabled,
        from_settings: false,
      };
      await putIssuer(c.em, encryption, fields, { id: before.id, secret });
      const issuer = await getIssuer(c.em, before.id);
      return { status: 200, body: presentIssuer(issuer, env.BASE_URL), headers: { ETag: tagOf(issuer) } };
    },
  });
}

function deleteEndpoint({ env }: Pick<AppDeps, 'env'>): Endpoint {
  return endpoint({
    method: 'DELETE',
    path: '/identity-issuers/{id}',
    operationId: 'deleteIssuer',
    scope: 'person',
    summary: 'Remove an issuer: its sessions end, its users stay without its groups',
    description: 'Users without a password cannot log in any more until they get one.',
    tags: TAGS,
    role: 'admin',
    params: idParams,
    responses: { 204: null },
    errors: [403, 409, 412],
    handler: async (c) => {
      await lockTeamGroups(c.em);
      const issuer = await getIssuer(c.em, c.params.id, true);
      checkPerson(claimsOf(c.ctx));
      checkIfMatch(c.ctx, tagOf(issuer));
      checkOwn(issuer);
      const { count, followed } = await deleteIssuer(c.em, issuer, env.SECOND_FACTOR_ROLES);
      c.audit.note({ data: { team_groups: count } });
      await auditFollowed(c.em, originOf(c.ctx), followed, { issuer: issuer.name });
      return { status: 204 };
    },
  });
}

function checkOwn({ from_settings: fromSettings }: Issuer): void {
  if (!fromSettings) return;
  throw new AppError(
    'conflict',
    'from_settings',
    'The settings OIDC_… define this issuer: change or remove them, and restart.',
  );
}

function tagOf({ id, updated_at: at }: Issuer): string {
  return etag('issuer', id, at);
}
