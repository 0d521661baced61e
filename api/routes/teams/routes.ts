/** Teams and their members: docs/teams.md. */
import * as z from 'zod';

import { ROLES } from '../../../contracts/roles.ts';
import { teamQuotas } from '../../../contracts/quotas.ts';
import { isAdmin, type Actor } from '../../../domain/auth/actor.ts';
import { checkStepUp } from '../../../domain/auth/clients.ts';
import { forbidden } from '../../../domain/errors.ts';
import { auditFollowed } from '../../../domain/teams/audit-followed.ts';
import {
  getMember,
  listMembers,
  MAX_MEMBERS,
  MAX_TEAMS_OF_USER,
  putMember,
  removeMember,
  type Member,
} from '../../../domain/teams/members.ts';
import {
  createTeam,
  deleteTeam,
  getTeam,
  getTeamForChange,
  getTeamForGroups,
  listTeams,
  MAX_COUNTED_MEMBERS,
  mayManage,
  updateTeam,
  type Team,
} from '../../../domain/teams/teams.ts';
import { mergedQuotas } from '../../merged-fields.ts';
import { originOf } from '../../audit-trail.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { orderBy, readPage } from '../../paging.ts';
import { personName } from '../../person-names.ts';
import { flag, idParams, pageQuery, text, timestamp, uuid } from '../../schemas.ts';
import { teamGroupEndpoints } from './groups.ts';

const TAGS = ['teams'];
const role = z.enum(ROLES);
/** No id, so that a name never looks like another team's id. */
const name = z
  .string()
  .regex(
    /^(?![0-9a-fA-F]{8}-)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    'must have 1 to 100 letters, digits, dots, underscores and hyphens, and not look like an id',
  );
const description = text({ max: 1_000 });

const teamRecord = z
  .object({
    id: uuid,
    name: z.string(),
    description: z.string().nullable(),
    role: role.nullable().meta({ description: 'Of the caller; null for administrators who are no members.' }),
    members: z.int().meta({ description: `Counted to ${MAX_COUNTED_MEMBERS}.` }),
    quotas: teamQuotas
      .nullable()
      .meta({ description: 'What replaces the settings for this team; administrators set it.' }),
    can: z.array(z.enum(['manage'])),
    created_by: uuid,
    created_by_name: personName,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Team' });

const memberRecord = z
  .object({
    team_id: uuid,
    user_id: uuid,
    username: z.string(),
    display_name: z.string().nullable(),
    role: role.meta({ description: 'The highest of their own and those of their groups.' }),
    own_role: role.nullable().meta({ description: 'Without groups; null: only groups give one.' }),
    groups: z
      .array(z.object({ group: z.string(), role }))
      .meta({ description: 'Groups of theirs that give a role in the team.' }),
    added_by: uuid,
    added_by_name: personName,
    added_at: timestamp,
  })
  .meta({ id: 'TeamMember' });

const memberParams = z.object({ id: uuid, user_id: uuid });
const byName = orderBy<{ name: string }, string>(z.string().max(100), (team) => team.name);
const byUser = orderBy<{ user_id: string }, string>(z.guid(), ({ user_id }) => user_id);

export function teamEndpoints(deps: Pick<AppDeps, 'orm'>): Endpoint[] {
  return [...listEndpoints(), ...singleEndpoints(), ...memberEndpoints(), ...teamGroupEndpoints(deps)];
}

function listEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/teams',
      operationId: 'listTeams',
      summary: "List the caller's teams by name; administrators see all",
      tags: TAGS,
      role: 'viewer',
      query: z.object({
        ...pageQuery,
        q: z.string().min(1).max(100).optional().meta({ description: 'Text in the name.' }),
        mine: flag.optional().meta({ description: 'Only teams that the caller is a member of.' }),
      }),
      responses: { 200: z.array(teamRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byName, (page, filter) =>
          listTeams(c.em, c.actor, filter, page),
        );
        return { status: 200, body: items.map((team) => presentTeam(c.actor, team)), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/teams',
      operationId: 'createTeam',
      summary: 'Create a team',
      description: 'Its first admin is the caller, or the user that `admin` names.',
      tags: TAGS,
      role: 'admin',
      body: z.object({ name, description: description.nullish(), admin: uuid.optional() }),
      record: teamRecord,
      responses: { 201: teamRecord },
      errors: [409],
      handler: async (c) => {
        const { admin = c.actor.id, description: about = null, ...given } = c.body;
        const id = await createTeam(c.em, c.actor, { ...given, description: about });
        await putMember(c.em, c.actor, id, { user_id: admin, role: 'admin' });
        const team = presentTeam(c.actor, await getTeam(c.em, c.actor, id));
        return { status: 201, body: team, headers: { Location: `${c.baseUrl}/teams/${id}` } };
      },
    }),
  ];
}

function singleEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/teams/{id}',
      operationId: 'getTeam',
      summary: 'Get a team',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: teamRecord },
      handler: async (c) => ({
        status: 200,
        body: presentTeam(c.actor, await getTeam(c.em, c.actor, c.params.id)),
      }),
    }),
    endpoint({
      method: 'PATCH',
      path: '/teams/{id}',
      operationId: 'updateTeam',
      summary: 'Rename or describe a team; for its admins. Administrators set its quotas',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'admin',
      inTeams: true,
      params: idParams,
      body: z.object({
        name: name.optional(),
        description: description.nullish(),
        quotas: teamQuotas.nullish(),
      }),
      record: teamRecord,
      responses: { 200: teamRecord },
      errors: [409],
      handler: async (c) => {
        const team = await getTeamForChange(c.em, c.actor, c.params.id);
        const { quotas, ...changes } = c.body;
        if (quotas !== undefined && !isAdmin(c.actor))
          throw forbidden('Only administrators set the quotas of teams.', 'role_required');
        await updateTeam(c.em, team, {
          ...changes,
          ...(quotas === undefined ? {} : { quotas: mergedQuotas(teamQuotas, team.quotas, quotas) }),
        });
        return { status: 200, body: presentTeam(c.actor, await getTeam(c.em, c.actor, team.id)) };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/teams/{id}',
      operationId: 'deleteTeam',
      summary: 'Delete a team that owns nothing any more; for its admins',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'admin',
      inTeams: true,
      params: idParams,
      responses: { 204: null },
      errors: [409],
      handler: async (c) => {
        const others = await deleteTeam(c.em, await getTeamForGroups(c.em, c.actor, c.params.id));
        await auditFollowed(c.em, originOf(c.ctx), others);
        return { status: 204 };
      },
    }),
  ];
}

function memberEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/teams/{id}/members',
      operationId: 'listTeamMembers',
      summary: 'List the members of a team',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(memberRecord) },
      handler: async (c) => {
        const team = await getTeam(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, byUser, (page) => listMembers(c.em, team.id, page));
        return { status: 200, body: items.map(presentMember), headers };
      },
    }),
    endpoint({
      method: 'PUT',
      path: '/teams/{id}/members/{user_id}',
      operationId: 'putTeamMember',
      summary: 'Add a member to a team, or change their role in it; for its admins',
      description:
        `A team has at most ${MAX_MEMBERS} members with a role of their own, and a user has one in at most ` +
        `${MAX_TEAMS_OF_USER} teams. ` +
        'A role below that of a group of theirs is 409 `role_of_group`. ' +
        'The last admin of a team stays one, unless an administrator decides otherwise. A session needs a ' +
        'log-in at most 5 minutes old (401 `login_too_old`).',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'admin',
      inTeams: true,
      params: memberParams,
      body: z.object({ role }),
      record: memberRecord,
      responses: { 200: memberRecord, 201: memberRecord },
      errors: [409],
      handler: async (c) => {
        const team = await getTeamForChange(c.em, c.actor, c.params.id);
        checkStepUp(claimsOf(c.ctx), c.actor);
        const { user_id: userId } = c.params;
        const isNew = await putMember(c.em, c.actor, team.id, { user_id: userId, role: c.body.role });
        const member = presentMember(await getMember(c.em, team.id, userId));
        return { status: isNew ? 201 : 200, body: member };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/teams/{id}/members/{user_id}',
      operationId: 'removeTeamMember',
      summary: 'Remove a member from a team; for its admins, and for members themselves',
      description:
        "Ends all rights to the team's objects within a second. What the member owns in the team gets an " +
        'admin of the team as its owner. A role that a group gives stays; who has no other is 409 ' +
        '`role_of_group`.',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'admin',
      inTeams: true,
      params: memberParams,
      responses: { 204: null },
      errors: [409],
      handler: async (c) => {
        const { id, user_id: userId } = c.params;
        const leaves = userId.toLowerCase() === c.actor.id;
        const team = await (leaves ? getTeam : getTeamForChange)(c.em, c.actor, id);
        if (leaves) await c.em.execute('select from team where id = ? for update', [id]);
        await removeMember(c.em, c.actor, team.id, userId);
        return { status: 204 };
      },
    }),
  ];
}

function presentTeam(actor: Actor, team: Team): z.input<typeof teamRecord> {
  const { id, name: called, description: about, created_by, members } = team;
  return {
    id,
    name: called,
    description: about,
    role: team.role,
    members,
    quotas: team.quotas,
    can: mayManage(actor, id) ? ['manage'] : [],
    created_by,
    created_at: new Date(team.created_at).toISOString(),
    updated_at: new Date(team.updated_at).toISOString(),
  };
}

function presentMember(member: Member): z.input<typeof memberRecord> {
  return { ...member, added_at: new Date(member.added_at).toISOString() };
}
