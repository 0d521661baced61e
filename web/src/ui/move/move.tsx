/** Gives a record to one of the user's teams, or to the user. */
import { useSignal } from '@preact/signals';

import type { Team } from '../../../../client/index.ts';
import { readTeams } from '../../data/teams.ts';
import { Dialog } from '../dialog.tsx';
import { RecordForm } from '../record-form.tsx';
import { detailOf } from '../problem.tsx';
import { complain, tell } from '../toasts.tsx';
import { words } from './words.ts';

interface Props {
  name: string;
  team: string | null;
  /** @param to the id of a team, or null for the user */
  onMove: (to: string | null) => Promise<void>;
}

const ME = 'me';

export function Move({ name, team, onMove }: Props) {
  const teams = useSignal<readonly Team[] | null>(null);
  const close = () => (teams.value = null);
  const open = () =>
    void readTeams().then(
      (found) => (teams.value = found),
      (error: unknown) => complain(detailOf(error)),
    );
  const options = [
    { const: ME, title: words.me },
    ...(teams.value ?? []).map(({ id, name: called }) => ({ const: id, title: called })),
  ];
  const send = async (to: string) => {
    await onMove(to === ME ? null : to);
    tell(words.moved(name, options.find((option) => option.const === to)?.title ?? ''));
    close();
  };
  return (
    <>
      <button type="button" onClick={open}>
        {words.move}
      </button>
      <Dialog open={teams.value !== null} title={words.title(name)} onClose={close}>
        <p class="muted">{words.help}</p>
        <RecordForm
          id="move"
          sections={[
            {
              id: 'record',
              member: '',
              schema: {
                type: 'object',
                required: ['to'],
                properties: { to: { title: words.to, oneOf: options } },
              },
              values: { to: team ?? ME },
            },
          ]}
          submit={words.move}
          onCancel={close}
          onSubmit={(body) => send(String(body['to']))}
        />
      </Dialog>
    </>
  );
}
