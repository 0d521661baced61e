/**
 * The form of what acts for a person: a token, a client or a program. Scopes and workflows add to each other,
 * so the form asks for one of them: whoever names a workflow means that alone.
 */
import { useSignal } from '@preact/signals';

import { MAX_SCOPES, SCOPES, SCOPE_TEXTS } from '../../../../contracts/scopes.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { words } from './access-words.ts';
import css from './settings.module.css';

type Limit = 'all' | keyof typeof words.limits;

interface Props {
  /** Prefix of the ids of its controls. */
  id: string;
  /** Also the title of the dialog. */
  button: string;
  submit: string;
  /** Of all that is not a limit. */
  schema: { required: readonly string[]; properties: Readonly<Record<string, Schema>> };
  /** What it may do without a limit; absent if it must have one. */
  unlimited?: string;
  /** @param limit for the body @throws ApiError whose problems the form shows */
  onSubmit: (body: Record<string, unknown>, limit: { scopes?: string[] }) => Promise<void>;
}

export function AccessDialog(props: Props) {
  const isOpen = useSignal(false);
  const close = () => (isOpen.value = false);
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        {props.button}
      </button>
      <Dialog open={isOpen.value} title={props.button} onClose={close}>
        <AccessForm {...props} onClose={close} />
      </Dialog>
    </>
  );
}

function AccessForm({ id, submit, schema, unlimited, onSubmit, onClose }: Props & { onClose: () => void }) {
  const limit = useSignal<Limit>(unlimited === undefined ? 'scopes' : 'all');
  const options = Object.entries({
    ...(unlimited === undefined ? {} : { all: unlimited }),
    ...words.limits,
  });
  return (
    <RecordForm
      id={id}
      sections={[{ id: 'record', member: '', schema: withLimit(schema, limit.value) }]}
      submit={submit}
      onCancel={onClose}
      onSubmit={async (body) => {
        await onSubmit(body, limitIn(limit.value, body));
        onClose();
      }}
    >
      <div class={css['field']}>
        <label for={`${id}-limit`}>{words.mayDo}</label>
        <select
          id={`${id}-limit`}
          value={limit.value}
          // Safe: the options have no other values.
          onChange={(event) => (limit.value = event.currentTarget.value as Limit)}
        >
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </div>
    </RecordForm>
  );
}

const FIELDS: Readonly<Record<Exclude<Limit, 'all'>, Schema>> = {
  scopes: {
    type: 'array',
    minItems: 1,
    items: { oneOf: SCOPES.map((scope) => ({ const: scope, title: `${scope} – ${SCOPE_TEXTS[scope]}` })) },
    title: words.scopes,
  },
  workflows: {
    type: 'array',
    maxItems: MAX_SCOPES,
    items: { type: 'string', format: 'uuid' },
    title: words.workflows,
    description: words.workflowsHelp,
  },
};

function withLimit({ required, properties }: Props['schema'], limit: Limit): Schema {
  if (limit === 'all') return { type: 'object', required, properties };
  return {
    type: 'object',
    required: [...required, limit],
    properties: { ...properties, [limit]: FIELDS[limit] },
  };
}

function limitIn(limit: Limit, { scopes, workflows }: Record<string, unknown>): { scopes?: string[] } {
  if (limit === 'all') return {};
  if (limit === 'scopes') return { scopes: textsIn(scopes) };
  return { scopes: textsIn(workflows).map((id) => `workflow:${id.toLowerCase()}`) };
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
