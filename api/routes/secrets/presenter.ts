import * as z from 'zod';

import type { Secret } from '../../../db/entities/secret.ts';
import { timestamp } from '../../schemas.ts';

/** A secret's record. It never contains the value. */
export const secretRecord = z
  .object({ name: z.string(), created_at: timestamp, updated_at: timestamp })
  .meta({ id: 'Secret' });

export function presentSecret(secret: Secret): z.input<typeof secretRecord> {
  return {
    name: secret.name,
    created_at: secret.created_at.toISOString(),
    updated_at: secret.updated_at.toISOString(),
  };
}
