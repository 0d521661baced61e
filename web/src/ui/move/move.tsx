/** Opens the dialog that gives a record to one of the user's teams, or to the user. */
import { useSignal } from '@preact/signals';

import type { Team } from '../../../../client/index.ts';
import { lazy } from '../../app/lazy.tsx';
import { readTeams } from '../../data/teams.ts';
import { detailOf } from '../problem.tsx';
import { complain } from '../toasts.tsx';
import { words } from './words.ts';

const MoveDialog = lazy(async () => (await import('./move-dialog.tsx')).MoveDialog);

interface Props {
  name: string;
  team: string | null;
  /** @param to the id of a team, or null for the user */
  onMove: (to: string | null) => Promise<void>;
}

export function Move(props: Props) {
  const teams = useSignal<readonly Team[] | null>(null);
  const open = () =>
    void readTeams().then(
      (found) => (teams.value = found),
      (error: unknown) => complain(detailOf(error)),
    );
  return (
    <>
      <button type="button" onClick={open}>
        {words.move}
      </button>
      {teams.value !== null && (
        <MoveDialog {...props} teams={teams.value} onClose={() => (teams.value = null)} />
      )}
    </>
  );
}
