/** Opens the dialogs that give a record to one of the user's teams, to the user, and for admins to others. */
import { useSignal } from '@preact/signals';

import type { Team } from '../../../../client/index.ts';
import { lazy } from '../../app/lazy.tsx';
import { user } from '../../data/session.ts';
import { hasTeams, readTeams } from '../../data/teams.ts';
import { detailOf } from '../problem.tsx';
import { complain } from '../toasts.tsx';
import type { MovedKind, NewHolder } from './holder.ts';
import { words } from './words.ts';

const MoveDialog = lazy(async () => (await import('./move-dialog.tsx')).MoveDialog);
const GiveDialog = lazy(async () => (await import('./give-dialog.tsx')).GiveDialog);

interface Props {
  kind: MovedKind;
  name: string;
  team: string | null;
  onMove: (to: NewHolder) => Promise<void>;
}

export function Move(props: Props) {
  return (
    <>
      {hasTeams() && <ToTeam {...props} />}
      {user.value?.roles.includes('admin') === true && <ToPerson {...props} />}
    </>
  );
}

function ToTeam({ name, team, onMove }: Props) {
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
        <MoveDialog
          name={name}
          team={team}
          teams={teams.value}
          onMove={onMove}
          onClose={() => (teams.value = null)}
        />
      )}
    </>
  );
}

function ToPerson({ kind, name, onMove }: Props) {
  const isOpen = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {words.give}
      </button>
      {isOpen.value && (
        <GiveDialog kind={kind} name={name} onMove={onMove} onClose={() => (isOpen.value = false)} />
      )}
    </>
  );
}
