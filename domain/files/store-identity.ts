/**
 * Ties a file store to its database: both hold the same random id, written at the first start. A process on
 * the wrong store would find no files or large values, and its sweep would delete another installation's
 * files.
 */
import { randomUUID } from 'node:crypto';
import type { EntityManager } from '../../db/orm.ts';
import { STORE_MARK, type FileStore } from './ports.ts';

/** The message says what to do. */
export class WrongFileStore extends Error {
  override readonly name = 'WrongFileStore';
}

/**
 * Marks the store at the first start and compares the mark at every later one. The lock on the row lets one
 * process mark while others wait; the next start recovers from a crash in between. @throws WrongFileStore,
 * FileStoreUnavailable, and database errors
 */
export async function claimFileStore(em: EntityManager, files: FileStore): Promise<void> {
  await em.execute(`insert into installation (file_store_id) values (?) on conflict do nothing`, [
    randomUUID(),
  ]);
  await em.transactional(async (tx) => {
    const expected = await readRow(tx, 'for update');
    if (expected === null) throw new Error('the installation has no row');
    const mark = await files.readMark();
    if (mark === null && !expected.marked) await files.writeMark(expected.id);
    else if (mark !== expected.id) throw wrongStore(files, mark, expected);
    if (!expected.marked) await tx.execute(`update installation set file_store_marked = true`);
  });
}

/** Whether the store belongs to this database; also true before the first start has marked a store. */
export async function isOwnFileStore(em: EntityManager, files: FileStore): Promise<boolean> {
  const expected = await readRow(em);
  return expected === null || !expected.marked || (await files.readMark()) === expected.id;
}

interface Expected {
  id: string;
  marked: boolean;
}

async function readRow(em: EntityManager, lock = ''): Promise<Expected | null> {
  const [row] = await em.execute<Expected[]>(
    `select file_store_id as id, file_store_marked as marked from installation ${lock}`,
  );
  return row ?? null;
}

function wrongStore({ place }: FileStore, mark: string | null, { id, marked }: Expected): WrongFileStore {
  const found = mark === null ? 'has no id yet' : `has the id ${mark}`;
  if (!marked) {
    return new WrongFileStore(
      `The file store, ${place}, belongs to another database (it ${found}). ` +
        'Choose a separate store for this database (FILES_DIR, or FILES_S3_BUCKET and ' +
        `FILES_S3_PREFIX). To give its files to this database, remove "${STORE_MARK}" from it: ` +
        'files without a row in this database are then deleted.',
    );
  }
  return new WrongFileStore(
    `The file store, ${place}, is not the one of this database: it ${found}, and the database ` +
      `expects ${id}. All api and worker processes need the same FILES_DIR or bucket. ` +
      `If the files were moved here, or are lost, write ${id} into "${STORE_MARK}" there. ` +
      'Hosts that share no store need FILES_LARGE_VALUES=false.',
  );
}
