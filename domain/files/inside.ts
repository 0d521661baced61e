/**
 * SQL: files that the platform has stored inside of runs whose inside is closed to who started them
 * (docs/teams.md#runners). They are that person's, but not for them to see, share or use elsewhere.
 */
import { OWNER_SEES_INSIDE } from '../runs/policy.ts';

/** Runs of the file's owner that use the file. */
const runsOf = (file: string): string =>
  `from run_file u join run r on r.id = u.run_id
    where u.file_id = ${file}.id and r.owner_id = ${file}.owner_id`;

/** Whether the file with this alias is from inside. What people upload is not, also for their decisions. */
export function isFromInside(file: string): string {
  return `(${file}.of_runs and not ${file}.attached
    and exists (select ${runsOf(file)} and not ${OWNER_SEES_INSIDE}))`;
}

/** Whether the run `r` shows the file to its owner, as far as they see the run. */
export const showsFile = (file: string): string => `(${OWNER_SEES_INSIDE}
  or r.parent_run_id is null and position(${file}.id::text in lower(concat(r.input, r.output))) > 0
  or exists (select from hitl_task t
              where t.run_id = r.id and 'id:' || r.owner_id = any(t.principals)
                and position(${file}.id::text in lower(concat(t.subject, t.context))) > 0))`;

/** Whether the file with this alias is from inside, and none of its runs shows it to its owner. */
export function isHidden(file: string): string {
  return `(${isFromInside(file)} and not exists (select ${runsOf(file)} and ${showsFile(file)}))`;
}
