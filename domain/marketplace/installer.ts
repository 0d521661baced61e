import type { Actor } from '../auth/actor.ts';
import { holderOf, type Held } from '../auth/ownership.ts';

/** For whom an item is installed: a person, or a team. */
export interface Installer {
  /** The person who installs, and owns the copy. */
  actor: Actor;
  team_id: string | null;
  /** The team or the person: whose secrets the copy reads. */
  holder_id: string;
  /** Decides which agents and workflows the copy may use. */
  rights: Actor;
}

export function installerFor(actor: Actor, teamId: string | null): Installer {
  const rights = teamId === null ? actor : teamAsActor(teamId);
  return { actor, team_id: teamId, holder_id: teamId ?? actor.id, rights };
}

/** Whose rights an installed copy has later: those of its holder, without what roles allow. */
export function installerOf(copy: Held): Installer {
  const owner = { id: copy.owner_id, username: '', roles: [], groups: [] };
  return { ...installerFor(owner, copy.team_id ?? null), holder_id: holderOf(copy) };
}

/** Has what the team holds, and what is public; nothing of a member's own. */
function teamAsActor(id: string): Actor {
  return { id, username: '', roles: [], groups: [], teams: [{ id, role: 'builder' }] };
}
