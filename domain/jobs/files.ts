/** Files of a job, with the rights of the run's owner. */
import type { StoredFile } from '../../db/entities/stored-file.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict, notFound } from '../errors.ts';
import { fileIdsIn, linkFiles, readableFiles } from '../files/run-files.ts';
import { addFile, readFile, type Upload } from '../files/service.ts';
import type { QuotaEnv } from '../quotas/settings.ts';
import type { JobRow } from './job.ts';

/** Files that a run may have of its workers, so that none fills the store. */
const MAX_FILES_OF_RUN = 1_000;

/** A file that the job's input names, and that the run's owner may read. @throws 404 */
export async function fileOfJob(em: EntityManager, job: JobRow, fileId: string): Promise<StoredFile> {
  const [row] = await em.execute<{ input: unknown; owner_id: string }[]>(
    `select j.input, r.owner_id from job j join run r on r.id = j.run_id where j.id = ?`,
    [job.id],
  );
  const id = fileId.toLowerCase();
  if (!row || !fileIdsIn(row.input).includes(id)) throw notFound('file');
  const run = { id: job.run_id, owner_id: row.owner_id };
  if ((await readableFiles(em, run, [id])).length === 0) throw notFound('file');
  await linkFiles(em, run, [id]);
  return readFile(em, id);
}

/** Adds a file to the job's run. @throws 409 if workers have added too many, or at a quota */
export async function addJobFile(
  em: EntityManager,
  job: JobRow,
  upload: Upload,
  file: { name: string; media_type: string },
  limits: QuotaEnv,
): Promise<StoredFile> {
  const [row] = await em.execute<{ owner_id: string; files: number }[]>(
    `select r.owner_id, (select count(*)::int from run_file f where f.run_id = r.id) as files
       from run r where r.id = ?`,
    [job.run_id],
  );
  if (!row) throw notFound('job');
  if (row.files >= MAX_FILES_OF_RUN)
    throw conflict('limit_reached', `The run has ${MAX_FILES_OF_RUN} files, and may have no more.`);
  return addFile(em, upload, { ...file, owner_id: row.owner_id, run_id: job.run_id }, limits);
}
