/** How files are shown. */
import type { File } from '../../client/index.ts';
import type { View } from './table.ts';
import { ago } from './text.ts';

export const fileView: View<File> = {
  columns: [
    ['id', ({ id }) => id],
    ['size', ({ size }) => size],
    ['type', (file) => file.media_type],
    ['created', (file) => ago(file.created_at)],
    ['name', ({ name }) => name],
  ],
  name: ({ id }) => id,
  none: 'No files.',
};
