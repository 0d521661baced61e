/** The only way from a file to JSON. */
import * as z from 'zod';

import type { StoredFile } from '../../../db/entities/stored-file.ts';
import { timestamp, uuid } from '../../schemas.ts';

export const visibility = z.enum(['private', 'public']);

export const fileRecord = z
  .object({
    id: uuid,
    name: z.string(),
    media_type: z.string(),
    size: z.int().meta({ description: 'Bytes.' }),
    sha256: z.string().meta({ description: 'Of the content, in lower-case hex.' }),
    owner_id: uuid,
    visibility,
    created_at: timestamp,
  })
  .meta({ id: 'File' });

export const fileLinkRecord = z.object({ url: z.string(), expires_at: timestamp }).meta({ id: 'FileLink' });

export function presentFile(file: StoredFile): z.input<typeof fileRecord> {
  const { id, name, media_type, size, sha256, owner_id, visibility: seenBy } = file;
  return { id, name, media_type, size, sha256, owner_id, visibility: seenBy, created_at: file.created_at.toISOString() };
}
