/**
 * Erases a person's data on request (docs/privacy.md, docs/adr/0065). One transaction ends all access and
 * replaces the account; the rest is done in batches, which any process continues after a crash.
 */
import { UserAccount } from '../../db/entities/user-account.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { isLastLocalAdmin, lastAdmin } from '../auth/local-admins.ts';
import { conflict, notFound, type AppError } from '../errors.ts';
import { touchSchedulesOf } from '../schedules/state.ts';
import { leaveAllTeams } from '../teams/members.ts';
import { ERASED_NAME, erasedUsername } from './erased-names.ts';
import { historiesOf, type HistoryReport } from './histories.ts';
import { counted, countRemoved, keptOf, removeAccess, type Counts, type Kept } from './holdings.ts';
import type { Former } from './names.ts';
import { countRows, ownedBy, type Owned } from './owned.ts';
import { textReport, type StoredTexts, type TextChoice, type TextReport } from './text-report.ts';

/** What becomes of the ended runs that the person owns. */
export const RUN_CHOICES = ['keep', 'remove'] as const;
export type RunChoice = (typeof RUN_CHOICES)[number];

export interface ErasureChoices {
  runs: RunChoice;
  freeText: TextChoice;
}

interface Obstacle {
  code: string;
  detail: string;
}

export interface ErasureReport {
  user_id: string;
  /** `incomplete`: all is done but for histories that Temporal refuses to remove. */
  status: 'planned' | 'blocked' | 'running' | 'incomplete' | 'done';
  runs: RunChoice;
  free_text: TextChoice;
  requested_at: Date | null;
  finished_at: Date | null;
  /** What has to be handed over first. */
  owned: Owned;
  /** Why the erasure would be refused. */
  obstacles: Obstacle[];
  removed: Counts;
  replaced: Counts;
  kept: Kept[];
  texts: TextReport;
  histories: HistoryReport;
}

/** What an erasure would do; `planTexts` searches the texts. */
export async function planErasure(
  em: EntityManager,
  actor: Actor,
  user: UserAccount,
  { runs, freeText }: ErasureChoices,
): Promise<ErasureReport> {
  const owned = await ownedBy(em, user.id);
  const found = await obstaclesOf(em, actor, user, owned, { lock: false });
  const obstacles = found.map(({ code, detail }) => ({ code, detail }));
  const removed = await countRemoved(em, user.id);
  const ended =
    runs === 'remove' ? await countRows(em, user.id, 'run', 'owner_id = ? and finished_at is not null') : 0;
  return {
    user_id: user.id,
    status: obstacles.length > 0 ? 'blocked' : 'planned',
    runs,
    free_text: freeText,
    requested_at: null,
    finished_at: null,
    owned,
    obstacles,
    removed: counted(removed, 'runs', ended),
    replaced: { account: 1 },
    kept: await keptOf(em, user.id, runs),
    texts: textReport({}, 'waiting'),
    histories: await historiesOf(em, user.id, null),
  };
}

/** @throws 409 with the first reason not to erase a locked user */
export async function checkErasable(em: EntityManager, actor: Actor, user: UserAccount): Promise<void> {
  const owned = await ownedBy(em, user.id);
  const [first] = await obstaclesOf(em, actor, user, owned, { lock: true });
  if (first !== undefined) throw first;
}

/**
 * The reasons not to erase a locked user: oneself, the last administrator, somebody who is erased already, a
 * transfer that goes on, and what others need.
 * @param lock for an erasure that follows: administrators stay as they are until then
 */
async function obstaclesOf(
  em: EntityManager,
  actor: Actor,
  user: UserAccount,
  owned: Owned,
  { lock }: { lock: boolean },
): Promise<AppError[]> {
  if (user.erased_at) return [conflict('already_erased', 'The data of this user was erased before.')];
  const found: AppError[] = [];
  if (user.id === actor.id)
    found.push(conflict('own_account', 'Another administrator has to erase your data.'));
  if (await isLastLocalAdmin(em, user.id, { lock })) found.push(lastAdmin());
  const open = await em.execute(
    'select from transfer where finished_at is null and (from_id = ? or to_id = ?) limit 1',
    [user.id, user.id],
  );
  if (open.length > 0)
    found.push(conflict('transfer_running', 'A transfer of this user goes on: wait for its end.'));
  const kinds = Object.entries(owned).map(([kind, { count }]) => `${kind.replaceAll('_', ' ')}: ${count}`);
  if (kinds.length > 0) {
    const how = `Hand over or delete what the user owns first (POST /users/${user.id}/transfer)`;
    found.push(conflict('owns_objects', `${how}: ${kinds.join(', ')}.`, { owned }));
  }
  return found;
}

/**
 * Ends all access and replaces the account; what the person made for teams gets an admin of the team as its
 * owner, as when a member is removed. `continueErasures` does the rest, once this is committed.
 */
export async function beginErasure(
  em: EntityManager,
  actor: Actor,
  user: UserAccount,
  { runs, freeText }: ErasureChoices,
): Promise<void> {
  const former = formerNames(user);
  const now = new Date();
  em.assign(user, {
    username: erasedUsername(user.id),
    email: `${erasedUsername(user.id)}@erased.invalid`,
    display_name: ERASED_NAME,
    password_hash: null,
    second_factor: false,
    issuer_id: null,
    roles: [],
    groups: [],
    status: 'disabled',
    token_epoch: user.token_epoch + 1,
    budget: null,
    quotas: null,
    erased_at: now,
    updated_at: now,
  });
  await em.flush();
  const access = await removeAccess(em, user.id);
  const removed = counted(access, 'team_memberships', await leaveAllTeams(em, actor, user.id));
  await touchSchedulesOf(em, user.id);
  await em.execute(
    `insert into erasure (user_id, requested_by, runs, free_text, former, removed, replaced)
     values (?, ?, ?, ?, ?::jsonb, ?::jsonb, '{"account": 1}')`,
    [user.id, actor.id, runs, freeText, JSON.stringify(former), JSON.stringify(removed)],
  );
}

export function formerNames(user: UserAccount): Former {
  return { username: user.username, email: user.email, display_name: user.display_name ?? null };
}

interface Row {
  runs: RunChoice;
  free_text: TextChoice;
  texts: StoredTexts;
  requested_at: string;
  finished_at: string | null;
  removed: Counts;
  replaced: Counts;
}

/** @throws 404 */
export async function readErasure(
  em: EntityManager,
  userId: string,
  retentionMs: number | null,
): Promise<ErasureReport> {
  const [row] = await em.execute<Row[]>(
    `select runs, free_text, texts, requested_at, finished_at, removed, replaced from erasure
      where user_id = ?`,
    [userId],
  );
  if (!row) throw notFound('erasure');
  const histories = await historiesOf(em, userId, retentionMs);
  return {
    user_id: userId,
    status: statusOf(row, histories),
    runs: row.runs,
    free_text: row.free_text,
    requested_at: new Date(row.requested_at),
    finished_at: row.finished_at === null ? null : new Date(row.finished_at),
    owned: {},
    obstacles: [],
    removed: row.removed,
    replaced: row.replaced,
    kept: await keptOf(em, userId, row.runs),
    texts: textReport(row.texts, textStatus(row)),
    histories,
  };
}

function statusOf({ finished_at: finished }: Row, histories: HistoryReport): ErasureReport['status'] {
  if (finished === null || histories.waiting > 0) return 'running';
  return histories.refused > 0 ? 'incomplete' : 'done';
}

function textStatus({ finished_at: finished, texts }: Row): TextReport['status'] {
  if (finished !== null) return 'done';
  return texts.names === undefined ? 'waiting' : 'searching';
}
