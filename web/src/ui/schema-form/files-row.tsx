/** A field for several files: each is uploaded when it is chosen, one after the other, and sent by reference. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { referenceTo } from '../../../../contracts/file-reference.ts';
import { uploadFile } from '../../data/uploads.ts';
import { detailOf } from '../problem.tsx';
import { acceptedTypes, nameOf, problemOf, type UploadFor } from './chosen-files.ts';
import { filesEntry, STILL_UPLOADING, type ChosenFile, type FilesField } from './fields.ts';
import { describedBy, Notes, Required, type RowProps } from './row.tsx';
import css from './schema-form.module.css';
import { words } from './file-words.ts';

interface Props extends RowProps {
  field: FilesField;
  uploadFor: UploadFor | undefined;
}

export function FilesRow(props: Props) {
  const { id, disabled } = props;
  const field = { ...props.field, help: helpOf(props.field) };
  const uploads = useUploads(props);
  const { files, refused, pending, choose } = uploads;
  const isPast = props.problem === STILL_UPLOADING && pending.length === 0;
  const problem = refused ?? (isPast ? undefined : props.problem);
  const shown = { id, field, problem };
  const isEmpty = files.length + pending.length === 0;
  return (
    <div class={css['wide']}>
      <label class={css['label']} for={id}>
        {field.label} <Required field={field} />
      </label>
      {!isEmpty && <Chosen {...uploads} field={field} inputId={id} disabled={disabled} />}
      <input
        id={id}
        type="file"
        multiple
        class={isEmpty ? undefined : css['more']}
        accept={acceptedTypes(field.schema)}
        disabled={disabled}
        required={field.required && isEmpty}
        aria-invalid={problem !== undefined}
        aria-describedby={describedBy(shown)}
        onChange={({ currentTarget }) => {
          choose([...(currentTarget.files ?? [])]);
          // Else the same files could not be chosen again.
          currentTarget.value = '';
        }}
      />
      <span class="hidden-text" role="status">
        {isEmpty ? '' : [words.filesCount(files.length), ...pending.slice(0, 1).map(uploadText)].join(', ')}
      </span>
      <Notes {...shown} />
    </div>
  );
}

function helpOf({ help, most }: FilesField): string {
  return [help, words.mostFiles(most)].filter((text) => text !== null).join(' ');
}

function uploadText({ file }: Pending): string {
  return words.uploading(file.name);
}

interface ChosenProps extends Pick<Uploads, 'files' | 'pending' | 'remove' | 'stop'> {
  field: FilesField;
  inputId: string;
  disabled: boolean;
}

function Chosen({ files, pending, remove, stop, field, inputId, disabled }: ChosenProps) {
  const rows = [
    ...files.map((one) => ({ text: nameOf(one), name: nameOf(one), act: () => remove(one) })),
    ...pending.map((one) => ({ text: uploadText(one), name: one.file.name, act: () => stop(one) })),
  ];
  return (
    <ul class={css['files']} aria-label={words.chosenFiles(field.label)}>
      {rows.map(({ text, name, act }, index) => (
        <li key={`${index} ${name}`} class={css['file']}>
          <span>{text}</span>
          <button
            type="button"
            disabled={disabled}
            aria-label={words.removeFile(name)}
            onClick={() => {
              act();
              // This button is gone then.
              document.getElementById(inputId)?.focus();
            }}
          >
            {words.remove}
          </button>
        </li>
      ))}
    </ul>
  );
}

type Uploads = ReturnType<typeof useUploads>;

function useUploads({ field, entry, uploadFor, onChange }: Props) {
  const { files } = filesEntry(field, entry);
  const refused = useSignal<readonly string[]>([]);
  // Other fields may change while files are on their way.
  const current = useRef({ files, onChange });
  current.current = { files, onChange };
  const change = (next: readonly ChosenFile[], isUploading: boolean) => {
    current.current.files = next;
    current.current.onChange({ files: next, isUploading });
  };
  const { pending, add, stop } = useQueue(
    async ({ file, upload: { signal } }) => {
      try {
        const stored = await uploadFile(file, { query: uploadFor, signal });
        const chosen = { file: referenceTo(stored, field.schema), name: stored.name };
        if (!signal.aborted) change([...current.current.files, chosen], true);
      } catch (error) {
        if (!signal.aborted) refused.value = [...refused.value, words.ofFile(file.name, detailOf(error))];
      }
    },
    (isUploading) => change(current.current.files, isUploading),
  );
  const choose = (chosen: readonly File[]) => {
    const count = current.current.files.length + pending.length;
    if (count + chosen.length > field.most) {
      refused.value = [words.tooManyFiles(field.most, count)];
      return;
    }
    const checked = chosen.map((file) => ({ file, problem: problemOf(field.schema, file) }));
    refused.value = checked.flatMap(({ file, problem }) =>
      problem === undefined ? [] : [words.ofFile(file.name, problem)],
    );
    add(checked.flatMap(({ file, problem }) => (problem === undefined ? [file] : [])));
  };
  const remove = (one: ChosenFile) => {
    refused.value = [];
    change(
      current.current.files.filter((other) => other !== one),
      pending.length > 0,
    );
  };
  const refusal = refused.value.length === 0 ? undefined : refused.value.join(' ');
  return { files, refused: refusal, pending, choose, remove, stop };
}

/** A file that is on its way, or waits for those before it. */
interface Pending {
  file: File;
  upload: AbortController;
}

/** Sends one file after the other. What is on its way ends with the field. */
function useQueue(send: (one: Pending) => Promise<void>, onChange: (isUploading: boolean) => void) {
  const pending = useSignal<readonly Pending[]>([]);
  const isSending = useRef(false);
  const set = (next: readonly Pending[]) => {
    pending.value = next;
    onChange(next.length > 0);
  };
  const stop = (one: Pending) => {
    one.upload.abort();
    if (pending.value.includes(one)) set(pending.value.filter((other) => other !== one));
  };
  const sendAll = async () => {
    if (isSending.current) return;
    isSending.current = true;
    for (let next = pending.value[0]; next !== undefined; next = pending.value[0]) {
      await send(next);
      stop(next);
    }
    isSending.current = false;
  };
  useEffect(
    () => () => {
      if (pending.value.length === 0) return;
      for (const { upload } of pending.value) upload.abort();
      set([]);
    },
    [],
  );
  const add = (files: readonly File[]) => {
    if (files.length === 0) return;
    set([...pending.value, ...files.map((file) => ({ file, upload: new AbortController() }))]);
    void sendAll();
  };
  return { pending: pending.value, add, stop };
}
