/** Groups whose people have a role in a team: docs/teams.md#groups. */
import * as z from 'zod';

import { MAX_TEAM_GROUP_LENGTH } from '../../../contracts/identity.ts';
import { ROLES } from '../../../contracts/roles.ts';
import { checkStepUp } from '../../../domain/auth/clients.ts';
import { MAX_TEAMS_OF_USER } from '../../../domain/teams/members.ts';
import {
  getTeamGroup,
  listTeamGroups,
  MAX_GROUPS_OF_TEAM,
  putTeamGroup,
  removeTeamGroup,
  type TeamGroup,
} from '../../../domain/teams/groups.ts';
import { getTeam, getTeamForGroups } from '../../../domain/teams/teams.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { orderBy, readPage } from '../../paging.ts';
import { personName } from '../../person-names.ts';
import { idParams, pageQuery, text, timestamp, uuid } from '../../schemas.ts';

const tags = ['teams'];
const role = z.enum(ROLES);
const group = text({ min: 1, max: MAX_TEAM_GROUP_LENGTH }).meta({
  description: 'As in the groups of users: `<issuer>:<group>`, or the name of a local one.',
});

const groupRecord = z
  .object({
    team_id: uuid,
    group: z.string(),
    role,
    added_by: uuid,
    added_by_name: personName,
    added_at: timestamp,
  })
  .meta({ id: 'TeamGroup' });

const groupParams = idParams.extend({ group });
const byName = orderBy<{ group: string }, string>(z.string().max(MAX_TEAM_GROUP_LENGTH), (one) => one.group);

export function teamGroupEndpoints(): Endpoint[] {
  return [listEndpoint(), putEndpoint(), removeEndpoint()];
}

function listEndpoint(): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/teams/{id}/groups',
    operationId: 'listTeamGroups',
    summary: 'List the groups whose people have a role in a team, by name',
    tags,
    role: 'viewer',
    params: idParams,
    query: z.object(pageQuery),
    responses: { 200: z.array(groupRecord) },
    handler: async (c) => {
      const team = await getTeam(c.em, c.actor, c.params.id);
      const { items, headers } = await readPage(c, byName, (page) => listTeamGroups(c.em, team.id, page));
      return { status: 200, body: items.map(presentGroup), headers };
    },
  });
}

function putEndpoint(): Endpoint {
  return endpoint({
    method: 'PUT',
    path: '/teams/{id}/groups/{group}',
    operationId: 'putTeamGroup',
    summary: 'Give everybody in a group a role in a team; for its admins',
    description:
      'It follows who is in the group: by SCIM, at log-ins, and by local groups. A team has at most ' +
      `${MAX_GROUPS_OF_TEAM} groups; groups make a user a member of at most ${MAX_TEAMS_OF_USER} teams, ` +
      'the oldest. A session needs a log-in at most 5 minutes old (401 `login_too_old`).',
    tags,
    role: 'viewer',
    clientRole: 'admin',
    inTeams: true,
    params: groupParams,
    body: z.object({ role }),
    record: groupRecord,
    responses: { 200: groupRecord, 201: groupRecord },
    errors: [409],
    handler: async (c) => {
      const team = await getTeamForGroups(c.em, c.actor, c.params.id);
      checkStepUp(claimsOf(c.ctx), c.actor);
      const given = { group: c.params.group, role: c.body.role };
      const { before, people } = await putTeamGroup(c.em, c.actor, team.id, given);
      c.audit.note({ data: { changes: { role: { old: before, new: given.role } }, people } });
      const body = presentGroup(await getTeamGroup(c.em, team.id, given.group));
      return { status: before === null ? 201 : 200, body };
    },
  });
}

function removeEndpoint(): Endpoint {
  return endpoint({
    method: 'DELETE',
    path: '/teams/{id}/groups/{group}',
    operationId: 'removeTeamGroup',
    summary: 'Take a role in a team from the people of a group; for admins of the team',
    description:
      'Who has no other role in the team is no member any more, within a second. What they own in the team ' +
      'gets an admin of the team as its owner. The last admin of a team stays one, unless an administrator ' +
      'decides otherwise.',
    tags,
    role: 'viewer',
    clientRole: 'admin',
    inTeams: true,
    params: groupParams,
    responses: { 204: null },
    errors: [409],
    handler: async (c) => {
      const team = await getTeamForGroups(c.em, c.actor, c.params.id);
      const { before, people } = await removeTeamGroup(c.em, c.actor, team.id, c.params.group);
      c.audit.note({ data: { changes: { role: { old: before, new: null } }, people } });
      return { status: 204 };
    },
  });
}

function presentGroup(one: TeamGroup): z.input<typeof groupRecord> {
  return { ...one, added_at: new Date(one.added_at).toISOString() };
}
