/** Choosing for which team a new record is. Without teams there is nothing. */
import { useId } from 'preact/hooks';

import type { OperationId } from '../../../client/index.ts';
import { mayCall } from '../data/session.ts';
import { teamsToBuildFor } from '../data/teams.ts';
import css from './schema-form/schema-form.module.css';
import { words } from './team-words.ts';

interface Props {
  /** What makes the record. */
  operation: OperationId;
  /** Id of a team; '' for the user. */
  value: string;
  onChange: (team: string) => void;
}

export function TeamSelect(props: Props) {
  return teamsToBuildFor().length === 0 ? null : <Holders {...props} label={words.holder} />;
}

/** With its label above it, as fields of forms have it. */
export function TeamField(props: Props) {
  const id = useId();
  if (teamsToBuildFor().length === 0) return null;
  return (
    <div>
      <label class={css['label']} for={id}>
        {words.holder}
      </label>
      <Holders {...props} id={id} />
    </div>
  );
}

/** @param label its name, unless a label names its id */
function Holders({ operation, value, onChange, id, label }: Props & { id?: string; label?: string }) {
  return (
    <select
      id={id}
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {mayCall(operation) && <option value="">{words.me}</option>}
      {teamsToBuildFor().map(({ id: team, name }) => (
        <option key={team} value={team}>
          {words.forTeam(name)}
        </option>
      ))}
    </select>
  );
}
