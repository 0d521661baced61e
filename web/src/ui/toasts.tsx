/** Short notes at the bottom of the screen. Refusals stay until they are closed. */
import { signal } from '@preact/signals';

import css from './toasts.module.css';
import { words } from './toast-words.ts';

interface Toast {
  id: number;
  text: string;
  isProblem: boolean;
  link?: { href: string; text: string };
}

const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 6_000;
const MAX_SHOWN = 4;
let last = 0;

export function tell(text: string, link?: Toast['link']): void {
  const id = add({ text, isProblem: false, ...(link === undefined ? {} : { link }) });
  setTimeout(() => close(id), SHOWN_MS);
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
      {toasts.value.map(({ id, text, isProblem, link }) => (
        <div key={id} class={`${css['toast']} ${isProblem ? css['problem'] : ''}`}>
          <span>{text}</span>
          {link !== undefined && <a href={link.href}>{link.text}</a>}
          <button type="button" class="plain" onClick={() => close(id)}>
            {words.close}
          </button>
        </div>
      ))}
    </div>
  );
}
