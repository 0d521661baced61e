/** How much room the rows of lists take: as the user prefers it. */
import { computed, effect } from '@preact/signals';

import { choices } from '../data/preferences.ts';

/** Heights of rows are multiplied by it, here and as `--density` in styles. */
export const density = computed(() => (choices.value.density === 'comfortable' ? 1.25 : 1));

effect(() => document.documentElement.style.setProperty('--density', String(density.value)));
