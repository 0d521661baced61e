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

/**
 * What the run `r` shows to its owner although its inside is closed to them: input and output, unless it is a
 * child, and what human tasks of theirs ask about.
 */
const SHOWN = `lower(concat(
  case when r.parent_run_id is null then concat(r.input, r.output) end,
  (select string_agg(concat(t.subject, t.context), ' ') from hitl_task t
    where t.run_id = r.id and 'id:' || r.owner_id = any(t.principals)
      and (t.delegates ->> r.owner_id::text is distinct from 'candidate'
           or may_act_on_task(r.owner_id, t.principals, t.delegates, t.team_id, t.excluded)))))`;

const isShown = (file: string, seesInside: string, shown: string): string => `(${seesInside}
  or ${file}.attached and ${file}.owner_id = r.owner_id or position(${file}.id::text in ${shown}) > 0)`;

/** Whether the run `r` shows the file to its owner, as far as they see the run. */
export const showsFile = (file: string): string => isShown(file, OWNER_SEES_INSIDE, SHOWN);

/** The files that the run `?` shows to its owner. What it shows is put together once. */
export const SHOWN_FILES = `
  with r as materialized (
    select r.id, r.owner_id, ${OWNER_SEES_INSIDE} as sees_inside, ${SHOWN} as shown from run r where r.id = ?)
  select f.id from r join run_file u on u.run_id = r.id join file f on f.id = u.file_id
   where ${isShown('f', 'r.sees_inside', 'r.shown')}`;

/** Whether the file with this alias is from inside, and none of its runs shows it to its owner. */
export function isHidden(file: string): string {
  return `(${isFromInside(file)} and not exists (select ${runsOf(file)} and ${showsFile(file)}))`;
}
