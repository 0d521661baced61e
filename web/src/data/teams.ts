/** The teams that the user knows, read once until somebody else is logged in. */
import { signal } from '@preact/signals';

import type { OperationId, Team } from '../../../client/index.ts';
import { client } from './api.ts';
import { mayCall, user, whenUserLeaves } from './session.ts';

const teams = signal<readonly Team[] | null>(null);
let isAsked = false;

whenUserLeaves(() => {
  teams.value = null;
  isAsked = false;
});

/** The team's name; `…` until it is known, and for a team that is not among the first 200. */
export function teamName(id: string): string {
  return known()?.find((team) => team.id === id)?.name ?? '…';
}

/** Whether the user knows any team; false until that is known. */
export function hasTeams(): boolean {
  return knownTeams().length > 0;
}

/** None until they are known. */
export function knownTeams(): readonly Team[] {
  return known() ?? [];
}

/** The teams for which the user may make and change things: as a builder of them, or as an admin. */
export function teamsToBuildFor(): readonly Team[] {
  const isAdmin = user.value?.roles.includes('admin') ?? false;
  return knownTeams().filter(({ role }) => isAdmin || role === 'builder' || role === 'admin');
}

/** The teams that the user administers; admins all. */
export function teamsToManage(): readonly Team[] {
  return knownTeams().filter(({ can }) => can.includes('manage'));
}

/** Whether the user may make or change it for a team, or with '' or null for themselves. */
export function mayCallFor(id: OperationId, team: string | null): boolean {
  return team === '' || team === null ? mayCall(id) : teamsToBuildFor().some((one) => one.id === team);
}

/** Whether the user may give it to another holder: who owns it, admins of its team, and admins. */
export function mayMove(id: OperationId, record: { owner_id: string; team_id: string | null }): boolean {
  const { owner_id: owner, team_id: team } = record;
  if (user.value?.roles.includes('admin') === true) return true;
  if (team !== null) return knownTeams().some((one) => one.id === team && one.role === 'admin');
  return owner === user.value?.id && mayCall(id);
}

/** Whether the user may make it for themselves or for any team. */
export function mayCallForAny(id: OperationId): boolean {
  return mayCall(id) || teamsToBuildFor().length > 0;
}

/** The team that is named, where the user may make the thing; else nobody's, else their first one. */
export function teamToBuildFor(id: OperationId, named: string | undefined): string {
  const teams = teamsToBuildFor();
  if (teams.some((team) => team.id === named)) return named ?? '';
  return mayCall(id) ? '' : (teams[0]?.id ?? '');
}

function known(): readonly Team[] | null {
  if (!isAsked) void readTeams().catch(() => (isAsked = false));
  return teams.value;
}

/** The first 200 teams of the user; admins see all. */
export async function readTeams(): Promise<readonly Team[]> {
  isAsked = true;
  teams.value = (await client.page('listTeams', { query: { limit: 200 } })).items;
  return teams.value;
}
