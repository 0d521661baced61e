/** Moves what has no `can`, where its holder allows it. */
import type { OperationId } from '../../../../client/index.ts';
import { mayMove } from '../../data/teams.ts';
import type { MovedKind, NewHolder } from '../../ui/move/holder.ts';
import { Move } from '../../ui/move/move.tsx';

interface Props {
  /** The operation that moves it. */
  by: OperationId;
  kind: MovedKind;
  name: string;
  record: { owner_id: string; team_id: string | null };
  onMove: (to: NewHolder) => Promise<void>;
}

export function MoveHeld({ by, kind, name, record, onMove }: Props) {
  if (!mayMove(by, record)) return null;
  return <Move kind={kind} name={name} team={record.team_id} onMove={onMove} />;
}
