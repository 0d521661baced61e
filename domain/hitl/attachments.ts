/** Files that people upload for their decisions: docs/human-tasks.md#decide. */
import { MAX_ATTACHED_FILES } from '../../contracts/file-reference.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict } from '../errors.ts';
import type { HumanTask } from './human-task.ts';
import { checkState, lockTask } from './locked-task.ts';

export const MAX_ATTACHMENT_BYTES = 25 * 1024 * 1024;

/**
 * In the transaction that stores the file. The run is locked, so two uploads do not pass the limit together.
 * @throws 403, 404 and 409 as the decision would, 409 for too many files
 */
export async function checkAttachment(em: EntityManager, actor: Actor, seen: HumanTask): Promise<void> {
  const locked = await lockTask(em, actor, seen);
  const { as, late } = locked;
  await checkState(em, locked, { kind: 'decide', by: as.id, self: actor.id, decision: '', late });
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from run_file u join file f on f.id = u.file_id
      where u.run_id = ? and f.owner_id = ? and f.of_runs`,
    [seen.run_id, actor.id],
  );
  if ((row?.count ?? 0) >= MAX_ATTACHED_FILES)
    throw conflict('limit_reached', `A run takes at most ${MAX_ATTACHED_FILES} files of one person.`);
}
