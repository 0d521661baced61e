/** The form of a JSON Schema. It keeps nothing: entries come in, and each change goes out. */
import type { FunctionComponent } from 'preact';
import { useEffect } from 'preact/hooks';

import { lazy } from '../../app/lazy.tsx';
import css from './schema-form.module.css';
import type { UploadFor } from './chosen-files.ts';
import {
  controlId,
  fieldsOf,
  groupEntry,
  pointerOf,
  problemWithin,
  shownField,
  type Entries,
  type Field,
  type Group,
  type OwnControl,
  type Schema,
} from './fields.ts';
import { loadCheck } from './form-check.ts';
import { describedBy, Notes, Required, wholeOf, type RowProps } from './row.tsx';
import { words } from './words.ts';

// Most forms ask for no file.
const FileRow = lazy(async () => (await import('./file-row.tsx')).FileRow);
const FilesRow = lazy(async () => (await import('./files-row.tsx')).FilesRow);

interface Props {
  /** Prefix of the ids of its controls. */
  id: string;
  schema: Schema;
  entries: Entries;
  /** By pointer of the field. */
  problems: ReadonlyMap<string, string>;
  disabled: boolean;
  /** Default: files of the user's own, which needs the role builder. */
  uploadFor?: UploadFor | undefined;
  onChange: (entries: Entries) => void;
}

export function SchemaForm({ schema, ...rest }: Props) {
  useEffect(() => void loadCheck(), []);
  return <Fields {...rest} fields={fieldsOf(schema)} pointer="" />;
}

interface FieldsProps extends Omit<Props, 'schema'> {
  fields: readonly Field[];
  /** Of the object that the fields belong to. */
  pointer: string;
}

function Fields({ id, fields, pointer, entries, problems, disabled, uploadFor, onChange }: FieldsProps) {
  return (
    <div class={css['grid']}>
      {fields.map((given) => {
        const entry = entries[given.name];
        const field = shownField(given, entry);
        const at = `${pointer}${pointerOf(field.name)}`;
        const shared = {
          id: controlId(id, field.name),
          entry,
          problem: field.kind === 'group' ? problems.get(at) : problemWithin(problems, at),
          disabled,
          onChange: (changed: Entries[string]) => onChange({ ...entries, [field.name]: changed }),
        };
        if (field.kind === 'group')
          return (
            <GroupRow
              key={field.name}
              {...shared}
              field={field}
              pointer={at}
              problems={problems}
              uploadFor={uploadFor}
            />
          );
        // Keyed by its id: an upload is for this form alone, also where another of its kind follows.
        if (field.kind === 'file')
          return <FileRow key={shared.id} {...shared} field={field} uploadFor={uploadFor} />;
        if (field.kind === 'files')
          return <FilesRow key={shared.id} {...shared} field={field} uploadFor={uploadFor} />;
        return <FieldRow key={field.name} {...shared} field={field} />;
      })}
    </div>
  );
}

interface GroupProps extends RowProps {
  field: Group;
  pointer: string;
  problems: ReadonlyMap<string, string>;
  uploadFor: UploadFor | undefined;
}

function GroupRow({ pointer, problems, uploadFor, ...row }: GroupProps) {
  const { id, field, entry, disabled, onChange } = row;
  const group = groupEntry(field, entry);
  return (
    <fieldset class={`${css['wide']} ${css['group']}`} {...wholeOf(row)}>
      <legend class={css['label']}>
        {field.label} <Required field={field} />
      </legend>
      <Notes {...row} />
      <Fields
        id={id}
        fields={field.fields}
        pointer={pointer}
        entries={group.entries}
        problems={problems}
        disabled={disabled}
        uploadFor={uploadFor}
        onChange={(entries) => onChange({ ...group, entries })}
      />
    </fieldset>
  );
}

/** Fields of more than one line. */
const WIDE: ReadonlySet<Field['kind']> = new Set(['long-text', 'lines', 'json']);

function FieldRow(props: RowProps) {
  const { id, field } = props;
  const notes = <Notes {...props} />;
  if (field.kind === 'boolean')
    return (
      <div class={css['wide']}>
        <label class={css['check']}>
          <Control {...props} /> {field.label}
        </label>
        {notes}
      </div>
    );
  if (field.kind === 'choices')
    return (
      <fieldset class={css['wide']} {...wholeOf(props)}>
        <legend class={css['label']}>
          {field.label} <Required field={field} />
        </legend>
        <Choices {...props} options={field.options} />
        {notes}
      </fieldset>
    );
  return (
    <div class={WIDE.has(field.kind) ? css['wide'] : css['cell']}>
      <label class={css['label']} for={id}>
        {field.label} <Required field={field} />
      </label>
      <Control {...props} />
      {notes}
    </div>
  );
}

function Control({ id, field, entry, problem, disabled, onChange }: RowProps) {
  const common = {
    id,
    disabled,
    required: field.required,
    'aria-invalid': problem !== undefined,
    'aria-describedby': describedBy({ id, field, problem }),
  };
  const text = typeof entry === 'string' ? entry : '';
  if (field.control !== null) {
    // Safe: all of them are components.
    const Own = field.control as FunctionComponent<OwnControl>;
    return <Own {...common} label={field.label} value={text} onText={onChange} />;
  }
  switch (field.kind) {
    case 'boolean':
      return (
        <input
          {...common}
          required={false}
          type="checkbox"
          checked={entry === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <select {...common} value={text} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{words.noChoice}</option>
          {field.options.map((option, index) => (
            <option key={option.label} value={String(index)}>
              {option.label}
            </option>
          ))}
        </select>
      );
    case 'long-text':
    case 'lines':
    case 'json':
      return (
        <textarea
          {...common}
          class={field.kind === 'json' ? css['code'] : undefined}
          rows={field.kind === 'lines' ? 2 : 4}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      );
    default:
      return (
        <input
          {...common}
          type={inputType(field.kind)}
          autocomplete={field.kind === 'password' ? 'new-password' : 'off'}
          inputMode={field.kind === 'number' || field.kind === 'integer' ? 'decimal' : undefined}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      );
  }
}

/** A number is typed as text, because a number input hides what it cannot read. */
const INPUTS: Readonly<Partial<Record<Field['kind'], string>>> = {
  date: 'date',
  'date-time': 'datetime-local',
  email: 'email',
  url: 'url',
  password: 'password',
};

/** Typed as `text`, because all of these inputs take the attributes of a text. */
function inputType(kind: Field['kind']): 'text' {
  return (INPUTS[kind] ?? 'text') as 'text';
}

function Choices({
  id,
  entry,
  disabled,
  options,
  onChange,
}: RowProps & { options: readonly { label: string }[] }) {
  const chosen = Array.isArray(entry) ? (entry as readonly number[]) : [];
  return (
    <>
      {options.map(({ label }, index) => (
        <label key={label} class={css['check']}>
          <input
            id={`${id}-${index}`}
            type="checkbox"
            disabled={disabled}
            checked={chosen.includes(index)}
            onChange={(event) =>
              onChange(
                event.currentTarget.checked
                  ? [...chosen, index]
                  : chosen.filter((position) => position !== index),
              )
            }
          />{' '}
          {label}
        </label>
      ))}
    </>
  );
}
