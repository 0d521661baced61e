/** A button, and the dialog that it opens: the records of one kind that belong to something, and a new one. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { detailOf } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { complain } from '../../ui/toasts.tsx';
import { words } from './issuer-words.ts';

interface Records<T> {
  /** Prefix of the ids of elements. */
  id: string;
  button: string;
  title: string;
  help: string;
  /** What stands there instead of an empty table. */
  none: string;
  /** All of them: there are few enough for one page. */
  list: () => Promise<readonly T[]>;
  columns: (reload: () => Promise<void>) => Column<T>[];
  /** What makes a new one. */
  children: (reload: () => Promise<void>) => ComponentChildren;
}

export function RecordsDialog<T extends { id: string }>(props: Records<T>) {
  const opened = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (opened.value = true)}>
        {props.button}
      </button>
      {opened.value && <Opened {...props} onClose={() => (opened.value = false)} />}
    </>
  );
}

function Opened<T extends { id: string }>({
  id,
  title,
  help,
  none,
  list,
  columns,
  children,
  onClose,
}: Records<T> & { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const records = useSignal<readonly T[]>([]);
  const reload = async () => {
    records.value = await list();
  };
  useEffect(() => {
    dialog.current?.showModal();
    reload().catch((error: unknown) => complain(detailOf(error)));
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <h2 id={`${id}-title`}>{title}</h2>
      <p class="muted">{help}</p>
      {records.value.length === 0 ? (
        <p>{none}</p>
      ) : (
        <Table
          label={title}
          columns={columns(reload)}
          records={records.value}
          keyOf={(record: T) => record.id}
        />
      )}
      {children(reload)}{' '}
      <button type="button" onClick={() => dialog.current?.close()}>
        {words.close}
      </button>
    </dialog>
  );
}
