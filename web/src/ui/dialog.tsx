import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

import css from './dialog.module.css';

interface Props {
  open: boolean;
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog. The browser keeps the focus inside, and gives it back when the dialog closes. */
export function Dialog({ open, title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  // The event comes a moment after the closing. By then the dialog may have been opened again.
  const closed = () => {
    if (open && dialog.current?.open !== true) onClose();
  };
  // Escape. Keys that follow at once find it closed here, too, before the browser tells of the closing.
  const cancelled = ({ target }: Event) => {
    if (target !== dialog.current) return;
    dialog.current?.close();
    onClose();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={closed} onCancel={cancelled}>
      {open && (
        <div class={css['content']}>
          <h2 id={id}>{title}</h2>
          {children}
        </div>
      )}
    </dialog>
  );
}
