import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

import type { Budget } from '../../contracts/budgets.ts';
import type { Runners } from '../../contracts/runners.ts';
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
    /** The team that holds it, with its owner as a member. */
    team_id: p.uuid().nullable(),
    /** The team, else the owner; the database computes it. */
    holder_id: p.uuid().generated('coalesce(team_id, owner_id) stored'),
    name: p.text(),
    description: p.text().nullable(),
    visibility: p.text().$type<Visibility>(),
    /** Who may start it besides those who may run it as builders. */
    runners: p.json<Runners>(),
    /** The words of the runners, as of human tasks' candidates. */
    runner_keys: p.array(),
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
