/** Expiring links to the stored files that an output names. */
import type { EntityManager } from '../../db/orm.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import { createFileLink } from '../files/file-link.ts';
import { fileIdsIn, readableFiles } from '../files/run-files.ts';
import type { FileLink } from '../../contracts/a2a/content.ts';

/** In one answer, also in a list of tasks: each link is signed. */
const MAX_LINKS = 100;

/** How many links an answer may still have. */
export interface LinkBudget {
  links: number;
}

export function linkBudget(): LinkBudget {
  return { links: MAX_LINKS };
}

/**
 * Only for files that the run may read, since an output can name any file. All links are made in advance, so
 * presenting the output is synchronous. An output that names more files than the budget has left gets none.
 */
export async function linksOf(
  { keys, baseUrl, em }: { keys: SigningKeys; baseUrl: string; em: EntityManager },
  run: { id: string; owner_id: string; output: unknown },
  budget = linkBudget(),
): Promise<FileLink> {
  const links = new Map<string, string>();
  const named = fileIdsIn(run.output).slice(0, MAX_LINKS);
  // Half of its links would not help: it is shown as it is.
  if (named.length === 0 || named.length > budget.links) return () => null;
  for (const id of await readableFiles(em, run, named)) {
    links.set(id, (await createFileLink({ keys, baseUrl }, id)).url);
    budget.links -= 1;
  }
  return (id) => links.get(id.toLowerCase()) ?? null;
}
