/** Choosing a team: whose records a list shows, and for whom a new one is. Without teams there is nothing. */
import type { OperationId } from '../../../client/index.ts';
import { query } from '../app/router.ts';
import { mayCall } from '../data/session.ts';
import { knownTeams, teamsToBuildFor } from '../data/teams.ts';
import { Choice, type Option } from './filters.tsx';
import { words } from './team-words.ts';

/** The parameter `team` of the address. @param all the list of all teams, and of the user's own */
export function TeamFilter({ all = words.anybodys }: { all?: string }) {
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

interface Props {
  /** What makes the record. */
  operation: OperationId;
  /** Id of a team; '' for the user. */
  value: string;
  onChange: (team: string) => void;
}

export function TeamSelect({ operation, value, onChange }: Props) {
  const teams = teamsToBuildFor();
  if (teams.length === 0) return null;
  return (
    <select aria-label={words.holder} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {mayCall(operation) && <option value="">{words.me}</option>}
      {teams.map(({ id, name }) => (
        <option key={id} value={id}>
          {words.forTeam(name)}
        </option>
      ))}
    </select>
  );
}
