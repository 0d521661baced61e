/** Which fields of the ORM's entities a transaction has changed, for the audit log. */
import type { EntityManager, EventSubscriber, FlushEventArgs } from '@mikro-orm/postgresql';

export interface FieldChange {
  field: string;
  old: unknown;
  new: unknown;
}

const MAX_CHANGES = 50;
const kept = new WeakMap<EntityManager, FieldChange[]>();

/** Of updates; in the order in which they were flushed. */
export function changedFields(em: EntityManager): readonly FieldChange[] {
  return kept.get(em) ?? [];
}

export class ChangeKeeper implements EventSubscriber {
  // The ORM's own signature.
  async afterFlush({ em, uow }: FlushEventArgs): Promise<void> {
    const changes = uow.getChangeSets().flatMap(({ type, payload, originalEntity }) =>
      type === 'update'
        ? Object.entries(payload).map(([field, value]) => ({
            field,
            // Both are plain objects by the names of the entity's properties.
            old: (originalEntity as Record<string, unknown> | undefined)?.[field],
            new: value as unknown,
          }))
        : [],
    );
    if (changes.length === 0) return;
    // The application has one driver, so this is its entity manager.
    const key = em as EntityManager;
    kept.set(key, [...(kept.get(key) ?? []), ...changes].slice(0, MAX_CHANGES));
  }
}
