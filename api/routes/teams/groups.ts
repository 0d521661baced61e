/** Groups whose people have a role in a team: docs/teams.md#groups. */
import * as z from 'zod';

import { MAX_TEAM_GROUP_LENGTH } from '../../../contracts/identity.ts';
import { ROLES } from '../../../contracts/roles.ts';
import { checkStepUp } from '../../../domain/auth/clients.ts';
import { auditFollowed } from '../../../domain/teams/audit-followed.ts';
import { BATCH } from '../../../domain/teams/follow-groups.ts';
import { MAX_TEAMS_OF_USER } from '../../../domain/teams/members.ts';
import { continueFollowing } from '../../../domain/teams/people-of-groups.ts';
import {
  getTeamGroup,
  listTeamGroups,
  MAX_GROUPS_OF_TEAM,
  putTeamGroup,
  removeTeamGroup,
  type TeamGroup,
} from '../../../domain/teams/groups.ts';
import { getTeam, getTeamForGroups } from '../../../domain/teams/teams.ts';
import { originOf } from '../../audit-trail.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { orderBy, readPage } from '../../paging.ts';
import { personName } from '../../person-names.ts';
import { idParams, pageQuery, text, timestamp, uuid } from '../../schemas.ts';

type Deps = Pick<AppDeps, 'orm'>;

const TAGS = ['teams'];
/** How long an answer waits for people behind the first ones; the rest follows within minutes. */
const ANSWER_MS = 3_000;
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
    pending: z.boolean().meta({
      description: `Some of its people are still to get the role: of more than ${BATCH}, the later ones.`,
    }),
  })
  .meta({ id: 'TeamGroup' });

const groupParams = idParams.extend({ group });
const byName = orderBy<{ group: string }, string>(z.string().max(MAX_TEAM_GROUP_LENGTH), (one) => one.group);

export function teamGroupEndpoints(deps: Deps): Endpoint[] {
  return [listEndpoint(), putEndpoint(deps), removeEndpoint()];
}

function listEndpoint(): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/teams/{id}/groups',
    operationId: 'listTeamGroups',
    summary: 'List the groups whose people have a role in a team, by name',
    tags: TAGS,
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

function putEndpoint({ orm }: Deps): Endpoint {
  return endpoint({
    method: 'PUT',
    path: '/teams/{id}/groups/{group}',
    operationId: 'putTeamGroup',
    summary: 'Give everybody in a group a role in a team; for its admins',
    description:
      'It follows who is in the group: by SCIM, at log-ins, and by local groups. A team has at most ' +
      `${MAX_GROUPS_OF_TEAM} groups; groups make a user a member of at most ${MAX_TEAMS_OF_USER} teams, ` +
      `the oldest. Of more than ${BATCH} people, the others follow within minutes (\`pending\`); a lower ` +
      'role counts for all at once. A session needs a log-in at most 5 minutes old (401 `login_too_old`).',
    tags: TAGS,
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
      const { before, people, others } = await putTeamGroup(c.em, c.actor, team.id, given);
      const record = await getTeamGroup(c.em, team.id, given.group);
      const { pending } = record;
      const changes = { role: { old: before, new: given.role } };
      c.audit.note({ data: { changes, people, ...(pending && { pending }) } });
      await auditFollowed(c.em, originOf(c.ctx), others, { group: given.group });
      const status = before === null ? 201 : 200;
      const fork = () => orm.em.fork();
      if (pending)
        c.afterCommit(async () => {
          // It is begun in any case, and the next round tries again and logs what fails, perhaps of another.
          await continueFollowing(fork, ANSWER_MS).catch(() => true);
          const now = await getTeamGroup(fork(), team.id, given.group).catch(() => record);
          return { status, body: presentGroup(now) };
        });
      return { status, body: presentGroup(record) };
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
    tags: TAGS,
    role: 'viewer',
    clientRole: 'admin',
    inTeams: true,
    params: groupParams,
    responses: { 204: null },
    errors: [409],
    handler: async (c) => {
      const team = await getTeamForGroups(c.em, c.actor, c.params.id);
      const { before, people, others } = await removeTeamGroup(c.em, c.actor, team.id, c.params.group);
      c.audit.note({ data: { changes: { role: { old: before, new: null } }, people } });
      await auditFollowed(c.em, originOf(c.ctx), others, { group: c.params.group });
      return { status: 204 };
    },
  });
}

function presentGroup(one: TeamGroup): z.input<typeof groupRecord> {
  return { ...one, added_at: new Date(one.added_at).toISOString() };
}
