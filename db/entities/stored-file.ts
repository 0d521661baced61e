import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

import type { Visibility } from './workflow.ts';

/** A file's metadata; its content is in the file store, under the same id. */
export const StoredFile = defineEntity({
  name: 'StoredFile',
  tableName: 'file',
  properties: {
    id: p.uuid().primary(),
    owner_id: p.uuid(),
    /** The team that holds it, with its owner as a member. */
    team_id: p.uuid().nullable(),
    /** The team, else the owner; the database computes it. */
    holder_id: p.uuid().generated('coalesce(team_id, owner_id) stored'),
    name: p.text(),
    media_type: p.text(),
    /** Bytes. */
    size: p.integer(),
    /** Lower-case hex. */
    sha256: p.text(),
    visibility: p.text().$type<Visibility>(),
    /** Stored by the platform for runs, and removed with the last run that uses it. */
    of_runs: p.boolean(),
    /** Uploaded by a person for a run: for their decision, or for its start. */
    attached: p.boolean(),
    /** The workflow whose runs alone take it, as input. */
    workflow_id: p.uuid().nullable(),
    /** When it is removed, unless such a run takes it first. */
    expires_at: p.datetime().nullable(),
    created_at: p.datetime(),
  },
});
export type StoredFile = InferEntity<typeof StoredFile>;
