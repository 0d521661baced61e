/** One clock for all relative times, so that they change together. */
import { signal } from '@preact/signals';

export const nowMs = signal(Date.now());

setInterval(() => {
  if (!document.hidden) nowMs.value = Date.now();
}, 1_000);
