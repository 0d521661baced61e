/** Who may start a workflow: a grant of its own (docs/teams.md#runners). */
import type { Runners } from '../../contracts/runners.ts';
import type { EntityManager } from '../../db/orm.ts';
import { invalid } from '../errors.ts';
import { userKeys } from '../hitl/principals.ts';
import { EVERYONE } from './workflow-policy.ts';

/** Runners as they are stored, which `keptRunners` has made of those that were given. */
export interface KeptRunners {
  runners: Runners;
  runner_keys: string[];
}

/**
 * The runners as they are stored: users by id, so that nobody takes over a right with a username, and the
 * words by which a caller is found among them. @throws 422 for a user that does not exist
 */
export async function keptRunners(
  em: EntityManager,
  { users = [], groups = [], everyone = false }: Runners,
): Promise<KeptRunners> {
  const keys = await userKeys(em, users);
  const unknown = users.flatMap((name, index) =>
    keys.get(name)?.startsWith('id:') === true
      ? []
      : [{ pointer: `/runners/users/${index}`, code: 'unknown_user', message: 'is not a user' }],
  );
  if (unknown.length > 0) throw invalid(unknown);
  const words = new Set([...keys.values(), ...groups.map((group) => `group:${group}`)]);
  const runners = {
    users: [...new Set(keys.values())].map((word) => word.slice('id:'.length)),
    groups: [...new Set(groups)],
    everyone,
  };
  return { runners, runner_keys: [...words, ...(everyone ? [EVERYONE] : [])] };
}
