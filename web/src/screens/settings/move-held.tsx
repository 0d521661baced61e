/** Moves what has no `can`, where its holder allows it. */
import type { OperationId } from '../../../../client/index.ts';
import { hasTeams, mayMove } from '../../data/teams.ts';
import { Move } from '../../ui/move/move.tsx';

interface Props {
  /** The operation that moves it. */
  by: OperationId;
  name: string;
  record: { owner_id: string; team_id: string | null };
  /** @param to the id of a team, or null for the user */
  onMove: (to: string | null) => Promise<void>;
}

export function MoveHeld({ by, name, record, onMove }: Props) {
  if (!hasTeams() || !mayMove(by, record)) return null;
  return <Move name={name} team={record.team_id} onMove={onMove} />;
}
