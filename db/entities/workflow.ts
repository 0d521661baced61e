import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

import type { Budget } from '../../contracts/budgets.ts';
import type { Provenance } from './marketplace-item.ts';

export type Visibility = 'private' | 'public';

/**
 * The part of a workflow that does not change with the definition; `valid` and `runnable` are those of the
 * current revision.
 */
export const Workflow = defineEntity({
  name: 'Workflow',
  tableName: 'workflow',
  properties: {
    id: p.uuid().primary(),
    owner_id: p.uuid(),
    name: p.text(),
    description: p.text().nullable(),
    visibility: p.text().$type<Visibility>(),
    tags: p.array(),
    revision: p.integer(),
    valid: p.boolean(),
    runnable: p.boolean(),
    budget: p.json<Budget>().nullable(),
    /** Set on copies that were installed from the marketplace. */
    provenance: p.json<Provenance>().nullable(),
    archived_at: p.datetime().nullable(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
  },
});
export type Workflow = InferEntity<typeof Workflow>;
