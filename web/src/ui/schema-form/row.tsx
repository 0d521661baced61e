/** What the rows of all kinds of fields have in common. */
import type { Entries, Field } from './fields.ts';
import css from './schema-form.module.css';

export interface RowProps {
  id: string;
  field: Field;
  entry: Entries[string] | undefined;
  problem: string | undefined;
  disabled: boolean;
  onChange: (entry: Entries[string]) => void;
}

export function Notes({ id, field, problem }: Pick<RowProps, 'id' | 'field' | 'problem'>) {
  return (
    <>
      {field.help !== null && (
        <p id={`${id}-help`} class={css['help']}>
          {field.help}
        </p>
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} class={css['problem']} role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

export function Required({ field }: { field: Field }) {
  return field.required ? <span aria-hidden="true">*</span> : null;
}

/** Attributes of several controls as a whole, which takes the focus if it has a problem. */
export function wholeOf(row: Pick<RowProps, 'id' | 'field' | 'problem'>) {
  return {
    tabIndex: -1,
    'data-invalid': row.problem !== undefined,
    'aria-describedby': describedBy(row),
  };
}

export function describedBy({
  id,
  field,
  problem,
}: Pick<RowProps, 'id' | 'field' | 'problem'>): string | undefined {
  const ids = [field.help === null ? '' : `${id}-help`, problem === undefined ? '' : `${id}-problem`];
  return ids.filter((one) => one !== '').join(' ') || undefined;
}
