/** The teams that the user knows, read once until somebody else is logged in. */
import { signal } from '@preact/signals';

import type { Team } from '../../../client/index.ts';
import { client } from './api.ts';
import { whenUserLeaves } from './session.ts';

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

export function knownTeams(): readonly Team[] {
  return known() ?? [];
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
