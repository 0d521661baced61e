/** Who sees runs (docs/teams.md#runs). Deny by default. */
import type { RunStatus } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { hasTeamRole, maySee, teamsWith, type Condition, type Owned } from '../auth/ownership.ts';
import type { RunRow } from './row.ts';

export interface RunOwner {
  owner_id: string;
  team_id: string | null;
}

/** Who started it, builders of the workflow's team, and admins. */
export function maySeeRun(actor: Actor, run: RunOwner): boolean {
  return run.owner_id === actor.id || mayOverseeRun(actor, run);
}

/** Builders of the workflow's team, and admins. */
export function mayOverseeRun(actor: Actor, run: Pick<RunOwner, 'team_id'>): boolean {
  return hasTeamRole(actor, run.team_id, 'builder') || isAdmin(actor);
}

export interface InsideOfRun extends RunOwner {
  parent_run_id: string | null;
  by_grant: boolean;
  /** Null for the run of an agent. */
  workflow: Owned | null;
}

/** SQL: what `maySeeInside` needs of the run `r`, besides its owner. */
export const INSIDE_COLUMNS = `r.team_id, r.by_grant, r.parent_run_id,
  (select json_build_object('owner_id', w.owner_id, 'team_id', w.team_id, 'visibility', w.visibility)
     from workflow w where w.id = r.workflow_id) as workflow`;

const INSIDE = new Prepared(`select r.status, r.owner_id, ${INSIDE_COLUMNS} from run r where r.id = ?`);

/** @returns undefined if there is no such run */
export async function readInside(
  em: EntityManager,
  runId: string,
): Promise<(InsideOfRun & { status: RunStatus }) | undefined> {
  const [run] = await INSIDE.execute<InsideOfRun & { status: RunStatus }>(em, [runId]);
  return run;
}

/**
 * Whether somebody who sees the run sees what is inside it, too: tasks, log, data. Who started it as a
 * runner, or has left the team since, sees input, output and state only, unless the workflow is open to them.
 */
export function maySeeInside(actor: Actor, run: InsideOfRun): boolean {
  if (mayOverseeRun(actor, run) || (!run.by_grant && run.team_id === null)) return true;
  if (hasTeamRole(actor, run.team_id, 'viewer')) return true;
  // A child is inside its parent, whose workflow may be closed to them although that of the child is open.
  if (run.by_grant && run.parent_run_id !== null) return false;
  return run.workflow !== null && maySee(actor, run.workflow);
}

/** SQL of `maySeeInside` for the owner of the run with the alias `r`, without what administrators may. */
export const OWNER_SEES_INSIDE = `(
  not r.by_grant and r.team_id is null
  or exists (select from team_member m where m.team_id = r.team_id and m.user_id = r.owner_id)
  or (r.parent_run_id is null or not r.by_grant) and exists (
       select from workflow w
        where w.id = r.workflow_id
          and (w.visibility = 'public' or w.holder_id = r.owner_id
               or exists (select from team_member m
                           where m.team_id = w.team_id and m.user_id = r.owner_id))))`;

/**
 * The run as the actor sees it: of one that is hidden inside, no more of an error than its kind, and of its
 * children not what they are given and give.
 */
export function shownTo<Row extends InsideOfRun & Pick<RunRow, 'error' | 'waiting_on' | 'usage'>>(
  actor: Actor,
  run: Row,
): Row {
  if (maySeeInside(actor, run)) return run;
  const error = run.error === null ? null : { ...run.error, detail: undefined, instance: undefined };
  const shown = { ...run, error, waiting_on: [], usage: {} };
  if (run.parent_run_id === null) return shown;
  return { ...shown, output: null, ...('input' in run ? { input: null } : { input_params: null }) };
}

/** SQL of `maySeeRun` for the run of this alias. */
export function runsSeenBy(actor: Actor, alias: string): Condition {
  if (isAdmin(actor)) return { sql: 'true', values: [] };
  const teams = teamsWith(actor, 'builder');
  return teams.length === 0
    ? { sql: `${alias}.owner_id = ?::uuid`, values: [actor.id] }
    : {
        sql: `(${alias}.owner_id = ?::uuid or ${alias}.team_id = any(?::uuid[]))`,
        values: [actor.id, arrayLiteral(teams)],
      };
}
