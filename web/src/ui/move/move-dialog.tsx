/** Gives a record to one of the user's teams, or to the user. */
import type { Team } from '../../../../client/index.ts';
import { Dialog } from '../dialog.tsx';
import { RecordForm } from '../record-form.tsx';
import { tell } from '../toasts.tsx';
import { words } from './dialog-words.ts';
import type { NewHolder } from './holder.ts';

interface Props {
  name: string;
  team: string | null;
  teams: readonly Team[];
  onMove: (to: NewHolder) => Promise<void>;
  onClose: () => void;
}

const ME = 'me';

export function MoveDialog({ name, team, teams, onMove, onClose }: Props) {
  const options = [
    { const: ME, title: words.me },
    ...teams.map(({ id, name: called }) => ({ const: id, title: called })),
  ];
  const send = async (to: string) => {
    await onMove({ team_id: to === ME ? null : to });
    tell(words.moved(name, options.find((option) => option.const === to)?.title ?? ''));
    onClose();
  };
  return (
    <Dialog open title={words.title(name)} onClose={onClose}>
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
        onCancel={onClose}
        onSubmit={(body) => send(String(body['to']))}
      />
    </Dialog>
  );
}
