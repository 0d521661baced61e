/** A field for a file: uploaded when it is chosen, and sent by reference. */
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import { referenceTo } from '../../../../contracts/file-reference.ts';
import { uploadFile } from '../../data/uploads.ts';
import { detailOf } from '../problem.tsx';
import { acceptedTypes, nameOf, problemOf, type UploadFor } from './chosen-files.ts';
import { fileEntry, STILL_UPLOADING, type FileEntry, type FileField } from './fields.ts';
import { describedBy, Notes, Required, type RowProps } from './row.tsx';
import css from './schema-form.module.css';
import { words } from './file-words.ts';

interface Props extends RowProps {
  field: FileField;
  uploadFor: UploadFor | undefined;
}

export function FileRow(props: Props) {
  const { id, field, disabled } = props;
  const { entry, refused, uploading, choose, remove, row } = useUpload(props);
  const isPast = props.problem === STILL_UPLOADING && uploading === null;
  const shown = { id, field, problem: refused ?? (isPast ? undefined : props.problem) };
  const name = entry.file === null ? null : nameOf(entry);
  return (
    <div class={css['cell']} ref={row}>
      <label class={css['label']} for={id}>
        {field.label} <Required field={field} />
      </label>
      <div class={css['file']}>
        {name === null && (
          <input
            id={id}
            type="file"
            accept={acceptedTypes(field.schema)}
            disabled={disabled}
            required={field.required}
            aria-invalid={shown.problem !== undefined}
            aria-describedby={describedBy(shown)}
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? [];
              if (file !== undefined) void choose(file);
              // Else the same file could not be chosen again.
              currentTarget.value = '';
            }}
          />
        )}
        <output id={name === null ? undefined : id}>{uploading ?? name}</output>
        {name !== null && (
          <button
            type="button"
            disabled={disabled}
            aria-label={words.removeFile(name)}
            data-invalid={shown.problem !== undefined}
            aria-describedby={describedBy(shown)}
            onClick={remove}
          >
            {words.remove}
          </button>
        )}
      </div>
      <Notes {...shown} />
    </div>
  );
}

function useUpload({ field, entry: given, uploadFor, onChange }: Props) {
  const entry = fileEntry(field, given);
  const row = useRef<HTMLDivElement>(null);
  const refused = useSignal<string | undefined>(undefined);
  const uploading = useSignal<string | null>(null);
  const current = useRef<AbortController | null>(null);
  // Other fields may change while a file is on its way.
  const change = useRef<(entry: FileEntry) => void>(onChange);
  change.current = onChange;
  const movesFocus = useRef(false);
  useLayoutEffect(() => {
    if (movesFocus.current) row.current?.querySelector<HTMLElement>('input, button')?.focus();
    movesFocus.current = false;
  }, [entry.file === null]);
  useEffect(
    () => () => {
      if (current.current === null) return;
      current.current.abort();
      change.current({ file: null });
    },
    [],
  );
  const choose = async (file: File) => {
    current.current?.abort();
    refused.value = problemOf(field.schema, file);
    if (refused.value !== undefined) return;
    const upload = new AbortController();
    current.current = upload;
    uploading.value = words.uploading(file.name);
    change.current({ file: null, isUploading: true });
    let result: FileEntry = { file: null };
    try {
      const stored = await uploadFile(file, { query: uploadFor, signal: upload.signal });
      result = { file: referenceTo(stored, field.schema), name: stored.name };
    } catch (error) {
      if (!upload.signal.aborted) refused.value = detailOf(error);
    }
    if (current.current !== upload || upload.signal.aborted) return;
    current.current = null;
    uploading.value = null;
    // The control that was chosen with gives way to the one that removes.
    movesFocus.current = row.current?.contains(document.activeElement) === true;
    change.current(result);
  };
  const remove = () => {
    refused.value = undefined;
    movesFocus.current = true;
    change.current({ file: null });
  };
  return { entry, refused: refused.value, uploading: uploading.value, choose, remove, row };
}
