/** A button that opens a form in a dialog. */
import { useSignal } from '@preact/signals';

import { Dialog } from './dialog.tsx';
import { RecordForm } from './record-form.tsx';
import type { Schema } from './schema-form/fields.ts';

interface Props {
  /** Prefix of the ids of its controls. */
  id: string;
  button: string;
  title: string;
  help?: string;
  submit: string;
  schema: Schema;
  values?: Readonly<Record<string, unknown>>;
  /** @throws ApiError whose problems the form shows */
  onSubmit: (body: Record<string, unknown>) => Promise<void>;
}

export function FormDialog({ id, button, title, help, submit, schema, values, onSubmit }: Props) {
  const isOpen = useSignal(false);
  const close = () => (isOpen.value = false);
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {button}
      </button>
      <Dialog open={isOpen.value} title={title} onClose={close}>
        {help !== undefined && <p class="muted">{help}</p>}
        <RecordForm
          id={id}
          sections={[{ id: 'record', member: '', schema, ...(values === undefined ? {} : { values }) }]}
          submit={submit}
          onCancel={close}
          onSubmit={async (body) => {
            await onSubmit(body);
            close();
          }}
        />
      </Dialog>
    </>
  );
}
