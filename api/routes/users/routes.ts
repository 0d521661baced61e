import * as z from 'zod';

import { budgetPatch, budgetSchema } from '../../../contracts/budgets.ts';
import { userQuotas } from '../../../contracts/quotas.ts';
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../../domain/auth/password.ts';
import { checkUserExists, createUser, getUser, listUsers, updateUser } from '../../../domain/auth/users.ts';
import { checkStepUp, deleteClient, listClients } from '../../../domain/auth/clients.ts';
import { limitSessions } from '../../../domain/auth/second-factor.ts';
import { auditFollowed, FollowedTeams } from '../../../domain/teams/audit-followed.ts';
import { changeOfTeams, holdMemberships } from '../../../domain/teams/follow-groups.ts';
import type { AppDeps } from '../../deps.ts';
import { mergedBudget, mergedQuotas } from '../../merged-fields.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { originOf } from '../../audit-trail.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { emailAddress, idParams, pageQuery, text, uuid } from '../../schemas.ts';
import type { UserAccount } from '../../../db/entities/user-account.ts';
import { clientRecord, presentClient, presentUser, role, userRecord } from './presenter.ts';

export const newPassword = text({ min: MIN_PASSWORD_LENGTH, max: MAX_PASSWORD_LENGTH });
/** No `@`, so that a username cannot look like another user's email address. */
const username = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    'must have 1 to 100 letters, digits, dots, underscores and hyphens',
  );
const fields = {
  username,
  email: emailAddress,
  display_name: text({ max: 255 }).nullable().optional(),
  roles: z.array(role).min(1).max(4),
  groups: z.array(text({ min: 1, max: 100 })).max(100),
};

/** User management by administrators. */
export function userEndpoints(deps: Pick<AppDeps, 'env'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users',
      operationId: 'listUsers',
      summary: 'List users, oldest first',
      tags: ['users'],
      role: 'admin',
      query: z.object({
        ...pageQuery,
        q: z
          .string()
          .max(255)
          .optional()
          .meta({ description: 'Text in the username, email address or display name.' }),
        role: role.optional(),
        group: z.string().optional(),
        status: z.enum(['active', 'disabled']).optional(),
      }),
      responses: { 200: z.array(userRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) => listUsers(c.em, filter, page));
        return { status: 200, body: items.map(presentUser), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/users',
      operationId: 'createUser',
      summary: 'Create a user',
      description: 'A session needs a log-in at most 5 minutes old (401 `login_too_old`).',
      tags: ['users'],
      role: 'admin',
      body: z.object({
        ...fields,
        groups: fields.groups.default([]),
        password: newPassword.nullable().meta({
          description:
            'Null: the user logs in by an external issuer, or chooses a password after `sendInvitation`.',
        }),
        budget: budgetSchema.nullish(),
      }),
      record: userRecord,
      responses: { 201: userRecord },
      errors: [409],
      handler: async (c) => {
        checkStepUp(claimsOf(c.ctx), c.actor);
        const { user, teams } = await createUser(c.em, c.body);
        await auditFollowed(c.em, originOf(c.ctx), new FollowedTeams(teams));
        return {
          status: 201,
          body: presentUser(user),
          headers: { Location: `/users/${user.id}`, ETag: tagOf(user) },
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/users/{id}',
      operationId: 'getUser',
      summary: 'Get a user',
      tags: ['users'],
      role: 'admin',
      params: idParams,
      responses: { 200: userRecord },
      handler: async (c) => {
        const user = await getUser(c.em, c.params.id);
        return { status: 200, body: presentUser(user), headers: { ETag: tagOf(user) } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/users/{id}/clients',
      operationId: 'listUserClients',
      summary: "List a user's machine clients, oldest first",
      tags: ['users'],
      role: 'admin',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(clientRecord) },
      handler: async (c) => {
        const user = await getUser(c.em, c.params.id);
        const { items, headers } = await readPage(c, byId, (page) => listClients(c.em, user.id, page));
        return { status: 200, body: items.map(presentClient), headers };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/{id}/clients/{client_id}',
      operationId: 'deleteUserClient',
      summary: "Delete a user's machine client; its tokens stop working immediately",
      tags: ['users'],
      role: 'admin',
      params: idParams.extend({ client_id: uuid }),
      responses: { 204: null },
      handler: async (c) => {
        await deleteClient(c.em, c.params.id, c.params.client_id);
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'PATCH',
      path: '/users/{id}',
      operationId: 'updateUser',
      summary: 'Update, disable or enable a user, or reset the password',
      description:
        "A disabled user's tokens stop working immediately; a new password ends all sessions. " +
        "Both permanently delete the user's machine clients. For username, roles, groups, status, password " +
        'and email a session needs a log-in at most 5 minutes old (401 `login_too_old`).',
      tags: ['users'],
      role: 'admin',
      params: idParams,
      body: z
        .object({
          ...fields,
          status: z.enum(['active', 'disabled']),
          password: newPassword.nullable().meta({
            description: 'Null switches the log-in by password off.',
          }),
          budget: budgetPatch.nullable(),
          quotas: userQuotas.nullable(),
        })
        .partial(),
      record: userRecord,
      responses: { 200: userRecord },
      errors: [409, 412],
      handler: async (c) => {
        await checkUserExists(c.em, c.params.id);
        c.checkSyntax();
        const given = c.readBody();
        if ('value' in given && given.value.groups !== undefined) await holdMemberships(c.em, c.params.id);
        const user = await getUser(c.em, c.params.id, true);
        checkIfMatch(c.ctx, tagOf(user));
        const { budget, quotas, ...body } = c.body;
        // Definitions name people by username: another one gives or takes rights, as a group does.
        const grave = [body.username, body.roles, body.groups, body.status, body.password, body.email];
        if (grave.some((field) => field !== undefined)) checkStepUp(claimsOf(c.ctx), c.actor);
        const { user: changed, teams } = await updateUser(c.em, user, {
          ...withoutUndefined(body),
          ...(budget === undefined ? {} : { budget: mergedBudget(user.budget, budget) }),
          ...(quotas === undefined ? {} : { quotas: mergedQuotas(userQuotas, user.quotas, quotas) }),
        });
        c.audit.note({ data: changeOfTeams(teams) });
        await auditFollowed(c.em, originOf(c.ctx), new FollowedTeams(teams));
        if (body.roles !== undefined) await limitSessions(c.em, [user.id], deps.env.SECOND_FACTOR_ROLES);
        return { status: 200, body: presentUser(changed), headers: { ETag: tagOf(changed) } };
      },
    }),
  ];
}

function tagOf(user: UserAccount): string {
  return etag(user.id, user.updated_at);
}

/** Removes undefined members: a merge patch leaves them unchanged. */
function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  // Safe: only undefined members are removed, so the others keep their types.
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
