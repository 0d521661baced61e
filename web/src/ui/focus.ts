/**
 * Moves the focus to what is drawn because of a change that the caller has just made. It happens before the
 * browser hands out the next key, so that nothing that is typed at once is lost: Preact draws in a microtask
 * that the change has queued before this one.
 */
export function focusDrawn(selector: string): void {
  queueMicrotask(() => document.querySelector<HTMLElement>(selector)?.focus());
}

/** Selects a control with a problem, and controls that have one as a whole. */
export const INVALID = ':is([aria-invalid=true], [data-invalid=true])';

/** Moves the focus to the first problem of a form. */
export function focusInvalid(form: Element | null): void {
  form?.querySelector<HTMLElement>(INVALID)?.focus();
}
