/**
 * Hands a user's secrets to a new owner, together with the agents and workflows that read them. If the new
 * owner has another secret of the same name, that one must not be read instead: it would be sent to a URL
 * that its owner never chose. The copied secret then gets a new name, and what is handed over reads it under
 * that name. What names a secret that the previous owner does not have, reads none.
 */
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { Workflow } from '../../db/entities/workflow.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict } from '../errors.ts';
import { bindSecrets, boundSecretsOf } from '../registry/definition-secrets.ts';
import { getRevision, updateWorkflow } from '../registry/workflow-service.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { putSecret, readSecrets } from '../secrets/service.ts';
import { boundBy, type Handed } from '../secrets/unbind.ts';
import type { Actor } from '../auth/actor.ts';

/** Old names → new names, of the secrets that were renamed. */
export type Renamed = Record<string, string>;

/**
 * Copies the secrets, because active runs still read the previous owner's. @returns the number of copies, all
 * secrets with their names in the new owner's store, and those among them that were renamed
 */
export async function handOverSecrets(
  em: EntityManager,
  encryption: Encryption,
  args: { from: string; to: string },
): Promise<{ copied: number; handed: Handed; renamed: Renamed }> {
  const existing = new Map(
    (await readSecrets(em, encryption, args.to)).map(({ name, value }) => [name, value]),
  );
  const taken = new Set(existing.keys());
  const handed: [string, string][] = [];
  let copied = 0;
  for (const { name, value } of await readSecrets(em, encryption, args.from)) {
    const isSame = existing.get(name) === value;
    const free = isSame ? name : freeName(name, taken);
    handed.push([name, free]);
    if (isSame) continue;
    taken.add(free);
    await putSecret(em, encryption, args.to, { name: free, value });
    copied += 1;
  }
  return {
    copied,
    handed: Object.fromEntries(handed),
    renamed: Object.fromEntries(handed.filter(([name, free]) => name !== free)),
  };
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) free = `${name.slice(0, 245)}_${count}`;
  return free;
}

/**
 * Creates a new revision of each workflow that reads a renamed secret. @throws 409 if the workflow has active
 * runs, which would keep the old revision under the new owner's rights, or if it computes secret names, which
 * cannot be rewritten
 */
export async function renameInWorkflows(
  em: EntityManager,
  actor: Actor,
  ownerId: string,
  { handed, renamed }: { handed: Handed; renamed: Renamed },
): Promise<void> {
  const bound = boundBy(handed);
  const names = Object.keys(renamed);
  if (names.length === 0) return;
  // Few of many: only these are read in full.
  const naming = await em.execute<{ id: string }[]>(
    `select w.id from workflow w
            join workflow_revision v on v.workflow_id = w.id and v.revision = w.revision and v.valid
      where w.holder_id = ? and w.archived_at is null
        and exists (select from unnest(?::text[]) as name where position(name in v.definition::text) > 0)`,
    [ownerId, arrayLiteral(names)],
  );
  for (const workflow of await em.find(Workflow, { id: { $in: naming.map(({ id }) => id) } })) {
    const revision = await getRevision(em, workflow, workflow.revision);
    if (!revision.valid) continue;
    const read = boundSecretsOf(revision.definition).filter((name) => Object.hasOwn(renamed, name));
    if (read.length === 0) continue;
    const extra = { workflow_id: workflow.id, secrets: read };
    const [busy] = await em.execute<{ id: string }[]>(
      `select id from run
        where workflow_id = ? and ${isOneOf('status', LIVE_STATUSES)} limit 1`,
      [workflow.id],
    );
    if (busy) {
      throw conflict(
        'workflow_in_use',
        'The new owner has other secrets with the names that the workflow ' +
          `${JSON.stringify(workflow.name)} reads, and the workflow has active runs: ` +
          'cancel them or wait for their end.',
        { ...extra, run_id: busy.id },
      );
    }
    const definition = bindSecrets(revision.definition, (name, isUnbound) =>
      isUnbound ? null : bound(name),
    );
    if (definition === null)
      throw conflict(
        'secret_names_taken',
        `The workflow ${JSON.stringify(workflow.name)} reads secrets by names under which ` +
          'the new owner has other secrets.',
        extra,
      );
    await updateWorkflow(em, actor, { workflow, revision }, { definition });
  }
}
