/** Expiring links to the stored files that an output names. */
import type { EntityManager } from '../../db/orm.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import { createFileLink } from '../files/file-link.ts';
import { fileIdsIn, readableFiles } from '../files/run-files.ts';
import type { FileLink } from '../../contracts/a2a/content.ts';

const MAX_FILES = 100;

/**
 * Only for files that the run may read, since an output can name any file. All links are made in advance, so
 * presenting the output is synchronous.
 */
export async function linksOf(
  { keys, baseUrl, em }: { keys: SigningKeys; baseUrl: string; em: EntityManager },
  run: { id: string; owner_id: string; output: unknown },
): Promise<FileLink> {
  const links = new Map<string, string>();
  for (const id of await readableFiles(em, run, fileIdsIn(run.output).slice(0, MAX_FILES)))
    links.set(id, (await createFileLink({ keys, baseUrl }, id)).url);
  return (id) => links.get(id.toLowerCase()) ?? null;
}
