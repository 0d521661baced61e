/** A form that changes a record as it was read: what others have changed meanwhile is not overwritten. */
import { useSignal } from '@preact/signals';

import { ApiError } from '../../../client/index.ts';
import { useQuery } from '../data/query.ts';
import { patchOf } from './form-sections.ts';
import { ProblemText } from './problem.tsx';
import { RecordForm } from './record-form.tsx';
import type { Schema } from './schema-form/fields.ts';
import { words } from './words.ts';

interface Tagged<T> {
  record: T;
  etag: string | null;
}

interface Props<T> {
  /** Prefix of the ids of its controls. */
  id: string;
  /** Names the record in the cache. */
  queryKey: readonly string[];
  read: (signal: AbortSignal) => Promise<Tagged<T>>;
  schema: Schema;
  /** What the form shows of the record. */
  valuesOf: (record: T) => Readonly<Record<string, unknown>>;
  submit: string;
  /** @param body what has been changed @throws ApiError whose problems the form shows */
  save: (body: Record<string, unknown>, headers: Record<string, string>, record: T) => Promise<void>;
  /** Saved, cancelled, or nothing was changed. */
  onClose: () => void;
}

export function TaggedForm<T>(props: Props<T>) {
  const { data, error, refetch } = useQuery<Tagged<T>>({
    queryKey: props.queryKey,
    // The tag belongs to what the form began with, so it is read once for each opening.
    staleTime: Infinity,
    gcTime: 0,
    queryFn: ({ signal }) => props.read(signal),
  });
  if (error !== null) return <ProblemText error={error} retry={() => void refetch()} />;
  if (data === undefined) return <div aria-busy="true" />;
  return <Form key={data.etag} {...props} {...data} onReload={() => void refetch()} />;
}

type FormProps<T> = Props<T> & Tagged<T> & { onReload: () => void };

function Form<T>({ id, record, etag, schema, valuesOf, submit, save, onClose, onReload }: FormProps<T>) {
  const isStale = useSignal(false);
  const values = valuesOf(record);
  const send = async (entered: Record<string, unknown>) => {
    const body = patchOf(entered, values);
    if (Object.keys(body).length > 0) {
      try {
        await save(body, etag === null ? {} : { 'if-match': etag }, record);
      } catch (error) {
        isStale.value = error instanceof ApiError && error.status === 412;
        throw error;
      }
    }
    onClose();
  };
  return (
    <RecordForm
      id={id}
      sections={[{ id: 'record', member: '', schema, values }]}
      submit={submit}
      onCancel={onClose}
      onSubmit={send}
    >
      {isStale.value && (
        <div>
          <button type="button" onClick={onReload}>
            {words.reload}
          </button>
        </div>
      )}
    </RecordForm>
  );
}
