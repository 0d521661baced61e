/** Whether the window is as narrow as a phone, where one thing is shown at a time. */
import { signal } from '@preact/signals';

const narrow = matchMedia('(max-width: 799px)');
export const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', () => (isNarrow.value = narrow.matches));
