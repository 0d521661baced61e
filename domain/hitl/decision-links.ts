/**
 * Links by which one person decides one task without a log-in (docs/notifications.md#decision-links). A row
 * beside the signed token says whether it was used, or ended because people of the task changed.
 */
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import { withAbsentPeople } from '../auth/absences.ts';
import { TEAMS_OF_USER, type Actor } from '../auth/actor.ts';
import { linkGone, readPersonalLink, signPersonalLink, type LinkDeps } from '../auth/signed-link.ts';
import type { AppError } from '../errors.ts';
import { findTask, type HumanTask } from './human-task.ts';
import { isUndecided } from './state-machine.ts';

export interface DecisionLinkDeps extends LinkDeps {
  /** Whether the operator allows them (DECISION_LINKS). */
  allowed: boolean;
  hours: number;
}

export interface DecisionLink {
  id: string;
  task: HumanTask;
  /** The person whom the link is for, with their current rights. */
  actor: Actor;
}

const KIND = { typ: 'decision-link+jwt', audience: 'cadenza-decisions' };

/** Whether author and operator allow a link for this task. */
export function allowsLink(
  { allowed }: Pick<DecisionLinkDeps, 'allowed'>,
  task: Pick<HumanTask, 'decision_links' | 'quorum' | 'status' | 'late'>,
): boolean {
  return allowed && task.decision_links && task.quorum === null && isUndecided(task.status) && !task.late;
}

/** The address for this person. It is kept nowhere; every mail has its own. */
export async function createDecisionLink(
  em: EntityManager,
  deps: DecisionLinkDeps,
  task: Pick<HumanTask, 'id' | 'expires_at'>,
  userId: string,
): Promise<string> {
  const ends = [
    Date.now() + deps.hours * 3_600_000,
    ...(task.expires_at === null ? [] : [Date.parse(task.expires_at)]),
  ];
  const expiresAt = new Date(Math.min(...ends));
  const id = uuidv7();
  await em.execute('insert into decision_link (id, task_id, user_id, expires_at) values (?, ?, ?, ?)', [
    id,
    task.id,
    userId,
    expiresAt,
  ]);
  const token = await signPersonalLink(deps, KIND, { id, userId, expiresAt });
  return `${deps.baseUrl}/decide/${token}`;
}

/** Changes nothing. @throws 404 for a token that is not ours, 410 for a link that is over */
export async function openDecisionLink(
  em: EntityManager,
  deps: DecisionLinkDeps,
  token: string,
): Promise<DecisionLink> {
  const { id, userId } = await readPersonalLink(deps, KIND, token);
  const [link] = await em.execute<{ task_id: string; is_open: boolean; used: boolean }[]>(
    `select task_id, used_at is not null as used,
            used_at is null and void_at is null and expires_at > clock_timestamp() as is_open
       from decision_link where id = ? and user_id = ?`,
    [id, userId],
  );
  if (!link?.is_open) throw over(link?.used === true ? 'The link has been used.' : undefined);
  const [user] = await em.execute<Actor[]>(
    `select id, username, to_json(roles) as roles, to_json(groups) as groups, ${TEAMS_OF_USER}
       from user_account u
      where id = ? and status = 'active'`,
    [userId],
  );
  const task = await findTask(em, link.task_id);
  if (!user || task === null || !allowsLink(deps, task)) throw over();
  return { id, task, actor: await withAbsentPeople(em, user) };
}

/** Uses it up, in the transaction of the decision. @throws 410 if it was used or ended meanwhile */
export async function useDecisionLink(em: EntityManager, { id }: DecisionLink): Promise<void> {
  const rows = await em.execute<object[]>(
    `update decision_link set used_at = clock_timestamp()
      where id = ? and used_at is null and void_at is null and expires_at > clock_timestamp() returning 1`,
    [id],
  );
  if (rows.length === 0) throw over();
}

function over(detail = 'The link is over: the task was decided or given to others.'): AppError {
  return linkGone(detail);
}
