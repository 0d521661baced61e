/** Identities at external issuers, and the log-in by password that they may replace. */
import * as z from 'zod';

import { issuerName } from '../../../contracts/identity.ts';
import { IdentityRefusal } from '../../../contracts/identity-refusal.ts';
import { checkFreshLogin } from '../../../domain/auth/clients.ts';
import { checkMayMakeCredential } from '../../../domain/auth/credential-guard.ts';
import { checkPerson } from '../../../domain/auth/own-sessions.ts';
import { getUser } from '../../../domain/auth/users.ts';
import { conflict, notFound } from '../../../domain/errors.ts';
import {
  linkSubject,
  listIdentities,
  switchPasswordOff,
  unlinkIdentity,
} from '../../../domain/identity/identities.ts';
import { findEnabledIssuer, getIssuer } from '../../../domain/identity/issuers.ts';
import { beginLogIn } from '../../../domain/identity/pending-log-in.ts';
import { auditFollowed, FollowedTeams } from '../../../domain/teams/audit-followed.ts';
import { changeOfTeams } from '../../../domain/teams/follow-groups.ts';
import { originOf } from '../../audit-trail.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, pageQuery, text, uuid } from '../../schemas.ts';
import { addressOf } from './log-in.ts';
import { identityRecord, presentIdentity, TAGS } from './schemas.ts';

type Deps = Pick<AppDeps, 'env' | 'encryption' | 'identities'>;

const identities = z.array(identityRecord);

export function identityEndpoints(deps: Deps): Endpoint[] {
  return [...ownEndpoints(deps), linkEndpoint(deps), ...adminEndpoints(deps)];
}

function ownEndpoints({ env }: Deps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/me/identities',
      operationId: 'listMyIdentities',
      summary: 'List your identities at external issuers, oldest first',
      tags: TAGS,
      role: 'viewer',
      query: z.object(pageQuery),
      responses: { 200: identities },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page) => listIdentities(c.em, c.actor.id, page));
        return { status: 200, body: items.map(presentIdentity), headers };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/me/identities/{id}',
      operationId: 'unlinkMyIdentity',
      summary: 'Unlink an identity; the sessions that it opened end',
      description: 'It needs a log-in at most 5 minutes old, else 401 `login_too_old`.',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 204: null },
      errors: [403, 409],
      handler: async (c) => {
        checkFreshLogin(claimsOf(c.ctx));
        const teams = await unlinkIdentity(c.em, c.actor.id, c.params.id, env.SECOND_FACTOR_ROLES);
        c.audit.note({ data: changeOfTeams(teams) });
        await auditFollowed(c.em, originOf(c.ctx), new FollowedTeams(teams));
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/me/password',
      operationId: 'deleteMyPassword',
      summary: 'Switch your log-in by password off, which ends all your sessions',
      description:
        'It needs a linked identity and a log-in at most 5 minutes old. The last administrator with a ' +
        'password keeps it (409 `last_admin`). Administrators can give you a password again.',
      tags: TAGS,
      role: 'viewer',
      responses: { 204: null },
      errors: [403, 409],
      handler: async (c) => {
        checkFreshLogin(claimsOf(c.ctx));
        await switchPasswordOff(c.em, c.actor);
        return { status: 204 };
      },
    }),
  ];
}

function linkEndpoint(deps: Deps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/users/me/identities',
    operationId: 'linkMyIdentity',
    // It only begins; the return from the issuer is in the log.
    audit: false,
    summary: 'Begin to link an identity of yours: open the address in this browser',
    description:
      'Only for the console, in a session at most 5 minutes old (401 `login_too_old`). ' +
      'You can have one identity of each issuer.',
    tags: TAGS,
    role: 'viewer',
    body: z.object({ issuer: issuerName.meta({ description: 'Its short name.' }) }),
    responses: { 200: z.object({ url: z.string() }).meta({ id: 'IssuerAddress' }) },
    errors: [403, 404, 409],
    idempotent: false,
    transaction: false,
    handler: async (c) => {
      const claims = claimsOf(c.ctx);
      await checkMayMakeCredential(c.em, claims);
      const issuer = await findEnabledIssuer(c.em, c.body.issuer);
      if (issuer === null) throw notFound('issuer');
      if ((await listIdentities(c.em, c.actor.id)).some((one) => one.issuer_id === issuer.id))
        throw conflict('already_linked', 'You have an identity of this issuer already.');
      const log = beginLogIn({
        issuer_id: issuer.id,
        fresh: false,
        return_to: '/console/settings/profile',
        link: { userId: c.actor.id, sessionId: claims.sid },
      });
      try {
        const headers = { 'Cache-Control': 'no-store' };
        return { status: 200, body: { url: await addressOf(deps, c, issuer, log) }, headers };
      } catch (error) {
        if (error instanceof IdentityRefusal) throw conflict(error.code, error.message);
        throw error;
      }
    },
  });
}

function adminEndpoints(deps: Deps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/{id}/identities',
      operationId: 'listUserIdentities',
      summary: "List a user's identities at external issuers, oldest first",
      tags: TAGS,
      role: 'admin',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: identities },
      handler: async (c) => {
        const { id } = await getUser(c.em, c.params.id);
        const { items, headers } = await readPage(c, byId, (page) => listIdentities(c.em, id, page));
        return { status: 200, body: items.map(presentIdentity), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/users/{id}/identities',
      operationId: 'linkUserIdentity',
      summary: 'Link an identity to a user by its subject',
      description: 'For users older than the issuer. Only a person may, in a session at most 5 minutes old.',
      tags: TAGS,
      role: 'admin',
      params: idParams,
      body: z.object({ issuer_id: uuid, subject: text({ min: 1, max: 255 }) }),
      record: identityRecord,
      responses: { 201: identityRecord },
      errors: [403, 409],
      idempotent: false,
      handler: async (c) => {
        const user = await getUser(c.em, c.params.id, true);
        checkFreshLogin(claimsOf(c.ctx));
        const issuer = await getIssuer(c.em, c.body.issuer_id);
        const id = await linkSubject(c.em, user.id, issuer, c.body.subject);
        const linked = (await listIdentities(c.em, user.id)).filter((one) => one.id === id);
        return { status: 201, body: linked.map(presentIdentity)[0] };
      },
    }),
    unlinkEndpoint(deps),
  ];
}

function unlinkEndpoint({ env }: Deps): Endpoint {
  return endpoint({
    method: 'DELETE',
    path: '/users/{id}/identities/{identity_id}',
    operationId: 'unlinkUserIdentity',
    summary: "Unlink a user's identity; the sessions that it opened end",
    tags: TAGS,
    role: 'admin',
    params: idParams.extend({ identity_id: uuid }),
    responses: { 204: null },
    errors: [403, 409],
    handler: async (c) => {
      const user = await getUser(c.em, c.params.id);
      checkPerson(claimsOf(c.ctx));
      const roles = env.SECOND_FACTOR_ROLES;
      const teams = await unlinkIdentity(c.em, user.id, c.params.identity_id, roles);
      c.audit.note({ data: changeOfTeams(teams) });
      await auditFollowed(c.em, originOf(c.ctx), new FollowedTeams(teams));
      return { status: 204 };
    },
  });
}
