/** The entries of the audit log for teams whose members have changed because groups have. */
import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { writeAudit, type AuditOrigin } from '../audit/write.ts';
import type { FollowedRole } from './follow-groups.ts';

/** `action` in the audit log. */
const GROUPS_CHANGE_MEMBERS = 'groups_change_members';
/** Of one change, each for a team; of what is above, entries name only the teams. */
const MAX_ENTRIES = 500;
const TEAMS_IN_PART = 100;
/** In one entry; it counts all. */
const MAX_SHOWN_MEMBERS = 50;

interface FollowedTeam {
  people: { joined: number; changed: number; left: number };
  /** The first ones. */
  members: { user_id: string; old: Role | null; new: Role | null }[];
}

/** What groups have changed in teams, by the team's id. */
export class FollowedTeams {
  readonly #teams = new Map<string, FollowedTeam>();

  constructor(followed: readonly FollowedRole[] = []) {
    this.add(followed);
  }

  add(followed: readonly FollowedRole[]): void {
    for (const { team_id: id, user_id, before, after } of followed) {
      const team = this.#teams.get(id) ?? { people: { joined: 0, changed: 0, left: 0 }, members: [] };
      team.people[before === null ? 'joined' : after === null ? 'left' : 'changed'] += 1;
      if (team.members.length < MAX_SHOWN_MEMBERS) team.members.push({ user_id, old: before, new: after });
      this.#teams.set(id, team);
    }
  }

  /** Takes the team out, whose change has an entry of its own. @returns for how many people it has changed */
  take(id: string): number {
    const { joined, changed, left } = this.#teams.get(id)?.people ?? { joined: 0, changed: 0, left: 0 };
    this.#teams.delete(id);
    return joined + changed + left;
  }

  entries(): [id: string, team: FollowedTeam][] {
    return [...this.#teams];
  }
}

/**
 * Without the address, which the request's own entry has: admins of a team do not read from where its members
 * log in. @param cause what else the entries say
 */
export async function auditFollowed(
  em: EntityManager,
  origin: AuditOrigin,
  followed: FollowedTeams,
  cause: Record<string, unknown> = {},
): Promise<void> {
  const common = { action: GROUPS_CHANGE_MEMBERS, objectType: 'team' };
  const entries = followed.entries();
  const from = { ...origin, address: null, userAgent: null };
  for (const [objectId, team] of entries.slice(0, MAX_ENTRIES))
    await writeAudit(em, from, { ...common, objectId, data: { ...cause, ...team } });
  for (let begin = MAX_ENTRIES; begin < entries.length; begin += TEAMS_IN_PART) {
    const teams = entries.slice(begin, begin + TEAMS_IN_PART).map(([id]) => id);
    await writeAudit(em, from, { ...common, data: { ...cause, teams } });
  }
}
