/** Converts files to JSON. Nothing else does. */
import * as z from 'zod';

import type { StoredFile } from '../../../db/entities/stored-file.ts';
import { personName } from '../../person-names.ts';
import { timestamp, uuid } from '../../schemas.ts';

export const visibility = z.enum(['private', 'public']);

export const fileRecord = z
  .object({
    id: uuid,
    name: z.string(),
    media_type: z.string(),
    size: z.int().meta({ description: 'Size in bytes.' }),
    sha256: z.string().meta({ description: 'SHA-256 of the content, in lower-case hexadecimal.' }),
    owner_id: uuid,
    owner_name: personName,
    team_id: uuid.nullable(),
    visibility,
    workflow_id: uuid.nullable().meta({ description: 'Only runs of this workflow take it, as input.' }),
    expires_at: timestamp.nullable().meta({
      description: 'When it is removed, unless a run of its workflow takes it first.',
    }),
    created_at: timestamp,
  })
  .meta({ id: 'File' });

export const fileLinkRecord = z.object({ url: z.string(), expires_at: timestamp }).meta({ id: 'FileLink' });

export function presentFile(file: StoredFile): z.input<typeof fileRecord> {
  const { id, name, media_type, size, sha256, owner_id, visibility: seenBy } = file;
  return {
    id,
    name,
    media_type,
    size,
    sha256,
    owner_id,
    team_id: file.team_id ?? null,
    visibility: seenBy,
    workflow_id: file.workflow_id ?? null,
    expires_at: file.expires_at?.toISOString() ?? null,
    created_at: file.created_at.toISOString(),
  };
}
