/** Short notes at the bottom of the screen. Refusals stay until they are closed. */
import { signal } from '@preact/signals';

import css from './toasts.module.css';
import { words } from './toast-words.ts';

interface Toast {
  id: number;
  text: string;
  isProblem: boolean;
  link?: { href: string; text: string };
  /** A button; the note closes with it. */
  action?: { text: string; act: () => void };
  /** How long it is shown, as a line that gets shorter. */
  forMs?: number;
}

const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 6_000;
/** Of a note that leads somewhere. */
const LINKED_MS = 12_000;
const MAX_SHOWN = 4;
let last = 0;

export function tell(text: string, link?: Toast['link']): void {
  const id = add({ text, isProblem: false, ...(link === undefined ? {} : { link }) });
  setTimeout(() => close(id), link === undefined ? SHOWN_MS : LINKED_MS);
}

/** Removes all notes. */
export function clearNotes(): void {
  toasts.value = [];
}

/** A note with a way to take back what it tells, for as long as that is possible. @returns what closes it */
export function offer(text: string, action: NonNullable<Toast['action']>, forMs: number): () => void {
  const id = add({ text, isProblem: false, action, forMs });
  setTimeout(() => close(id), forMs);
  return () => close(id);
}

export function complain(text: string, link?: Toast['link']): void {
  add({ text, isProblem: true, ...(link === undefined ? {} : { link }) });
}

function add(toast: Omit<Toast, 'id'>): number {
  last += 1;
  toasts.value = [...toasts.value, { ...toast, id: last }].slice(-MAX_SHOWN);
  return last;
}

function close(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class={css['stack']} role="status">
      {toasts.value.map(({ id, text, isProblem, link, action, forMs }) => (
        <div key={id} class={`${css['toast']} ${isProblem ? css['problem'] : ''}`}>
          <span>{text}</span>
          {forMs !== undefined && (
            <i class={css['left']} style={{ animationDuration: `${forMs}ms` }} aria-hidden="true" />
          )}
          {link !== undefined && <a href={link.href}>{link.text}</a>}
          {action !== undefined && (
            <button
              type="button"
              onClick={() => {
                close(id);
                action.act();
              }}
            >
              {action.text}
            </button>
          )}
          <button type="button" class="plain" onClick={() => close(id)}>
            {words.close}
          </button>
        </div>
      ))}
    </div>
  );
}
