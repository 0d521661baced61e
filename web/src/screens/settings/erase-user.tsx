/** Erases a person's data: first what would happen, then the username typed to confirm. */
import { useSignal } from '@preact/signals';

import type { Erasure, User } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { eraseWords as words } from './erase-words.ts';

const schema: Schema = {
  type: 'object',
  required: ['confirm', 'runs'],
  properties: {
    runs: { enum: ['keep', 'remove'], title: words.runs, description: words.runsHelp, default: 'keep' },
    confirm: { type: 'string', title: words.confirm, description: words.confirmHelp },
  },
};

interface Props {
  user: User;
  onErased: (report: Erasure) => Promise<void>;
}

export function EraseUser({ user, onErased }: Props) {
  const isOpen = useSignal(false);
  const plan = useSignal<Erasure | null>(null);
  const refused = useSignal<unknown>(null);
  const path = { id: user.id };
  const open = async () => {
    isOpen.value = true;
    plan.value = null;
    refused.value = null;
    try {
      plan.value = await client.call('eraseUser', { path, body: { dry_run: true } });
    } catch (error) {
      refused.value = error;
    }
  };
  const close = () => (isOpen.value = false);
  return (
    <>
      <button type="button" onClick={() => void open()}>
        {words.erase}
      </button>
      <Dialog open={isOpen.value} title={words.title(user.username)} onClose={close}>
        <p>{words.help}</p>
        {refused.value !== null && <ProblemText error={refused.value} />}
        {plan.value !== null && <Plan plan={plan.value} />}
        {plan.value !== null && Object.keys(plan.value.owned).length === 0 && (
          <RecordForm
            id={`erase-${user.id}`}
            sections={[{ id: 'record', member: '', schema }]}
            submit={words.erase}
            onCancel={close}
            onSubmit={async (body) => {
              // The form's schema is that of the request.
              await onErased(await client.call('eraseUser', { path, body: body as { confirm: string } }));
              close();
            }}
          />
        )}
      </Dialog>
    </>
  );
}

function Plan({ plan }: { plan: Erasure }) {
  const owned = Object.entries(plan.owned).map(([kind, { count }]) => words.counted(kind, count));
  const removed = Object.entries(plan.removed).map(([kind, count]) => words.counted(kind, count));
  return (
    <dl>
      {owned.length > 0 && (
        <>
          <dt>{words.owned}</dt>
          <dd>
            <span role="alert">{owned.join(', ')}</span>
          </dd>
        </>
      )}
      <dt>{words.removed}</dt>
      <dd>{removed.length === 0 ? words.nothing : removed.join(', ')}</dd>
      <dt>{words.kept}</dt>
      {plan.kept.map(({ kind, count, why }) => (
        <dd key={kind}>
          {words.counted(kind, count)}: {why}
        </dd>
      ))}
    </dl>
  );
}
