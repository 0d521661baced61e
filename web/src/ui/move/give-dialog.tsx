/** Gives a record to another person, for admins. */
import { readPersonId } from '../../data/people.ts';
import { Dialog } from '../dialog.tsx';
import { personSchema } from '../person-field.tsx';
import { RecordForm } from '../record-form.tsx';
import type { Schema } from '../schema-form/fields.ts';
import { tell } from '../toasts.tsx';
import { words as moveWords } from './dialog-words.ts';
import { words } from './give-words.ts';
import type { MovedKind, NewHolder } from './holder.ts';

interface Props {
  kind: MovedKind;
  name: string;
  onMove: (to: NewHolder) => Promise<void>;
  onClose: () => void;
}

/** The field has the name of the API's, whose refusals are shown at it. */
const schema: Schema = {
  type: 'object',
  required: ['owner_id'],
  properties: { owner_id: personSchema(words.to, words.toHelp) },
};

export function GiveDialog({ kind, name, onMove, onClose }: Props) {
  const send = async (username: string) => {
    await onMove({ team_id: null, owner_id: await readPersonId(username) });
    tell(moveWords.moved(name, username));
    onClose();
  };
  return (
    <Dialog open title={words.title(name)} onClose={onClose}>
      <p class="muted">
        {words.means[kind]} {words.end}
      </p>
      <RecordForm
        id="give"
        sections={[{ id: 'record', member: '', schema }]}
        submit={words.give}
        onCancel={onClose}
        onSubmit={(body) => send(String(body['owner_id']).trim())}
      />
    </Dialog>
  );
}
