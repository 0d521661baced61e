/** What the palette's field and its list share. */
import type { Signal } from '@preact/signals';

import type { Entry } from './palette-entries.ts';

export interface PaletteState {
  text: Signal<string>;
  /** Place of the entry that Enter chooses. */
  active: Signal<number>;
  /** What is shown, in its order; null until it is known. */
  entries: Signal<readonly Entry[] | null>;
}

export const PALETTE_LIST = 'palette-list';

export const optionId = (index: number): string => `${PALETTE_LIST}-${index}`;
