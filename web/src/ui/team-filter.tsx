/** Choosing whose records a list shows. Without teams there is nothing. */
import { query } from '../app/router.ts';
import { knownTeams } from '../data/teams.ts';
import { Choice, type Option } from './filters.tsx';
import { words } from './team-words.ts';

/** The parameter `team` of the address. @param all what the list shows if no team is chosen */
export function TeamFilter({ all = words.any }: { all?: string }) {
  const teams = knownTeams();
  if (teams.length === 0) return null;
  const options = teams.map(({ id, name }): Option => [id, name]);
  return (
    <Choice
      name="team"
      label={words.team}
      value={query.value['team'] ?? ''}
      options={[['', all], ...options]}
    />
  );
}
