/**
 * Whether somebody may be looking at this tab. A tab that is hidden for a while lets go of its streams: over
 * HTTP/1.1 a browser has six connections to a server for all of its tabs.
 */
import { signal } from '@preact/signals';

const HIDDEN_MS = 15_000;

export const isVisible = signal(!document.hidden);

let timer: ReturnType<typeof setTimeout> | undefined;
document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  if (!document.hidden) isVisible.value = true;
  else timer = setTimeout(() => (isVisible.value = false), HIDDEN_MS);
});
