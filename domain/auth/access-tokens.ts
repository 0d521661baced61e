/**
 * Personal access tokens: `cdz_`, 32 random characters and a checksum, so that scanners of source code know
 * them without asking. Long and random, so a plain SHA-256 hash is enough (docs/adr/0054).
 */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { v7 as uuidv7 } from 'uuid';

import { counted } from '../../contracts/counted.ts';
import { isScopeText, noScope, WORKFLOW_SCOPE } from '../../contracts/scopes.ts';
import type { Role } from '../../contracts/roles.ts';
import { arrayLiteral, type KeysetPage } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { invalid, notFound } from '../errors.ts';
import { checkQuota } from '../quotas/check.ts';
import type { QuotaEnv } from '../quotas/settings.ts';
import { startableBy } from '../registry/workflow-policy.ts';
import { hasRole, rightsUnless, scopedActor, type Actor, type TeamRole } from './actor.ts';
import type { Caller } from './known-callers.ts';
import { seenBy } from './ownership.ts';
import { hashToken } from './sessions.ts';
import { startsWaiting } from './waiting-programs.ts';

const PREFIX = 'cdz_';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PATTERN = /^cdz_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;
const DAY_MS = 86_400_000;

export interface AccessToken {
  id: string;
  name: string;
  scopes: string[];
  /** The last characters of the token, to tell tokens apart. */
  hint: string;
  created_at: Date;
  expires_at: Date;
  last_used_at: Date | null;
  last_address: string | null;
  awaits_second_factor: boolean;
}

export interface NewAccessToken {
  name: string;
  scopes: readonly string[];
  expiresAt: Date;
  /** The longest allowed lifetime in days. */
  maxDays: number;
  limits: QuotaEnv;
  secondFactorRoles: readonly Role[];
}

const COLUMNS = `id, name, scopes, hint, created_at, expires_at, last_used_at, last_address,
  awaits_second_factor`;

/** The token is only in this answer. @throws 409, 422 */
export async function createAccessToken(
  em: EntityManager,
  actor: Actor,
  { name, scopes, expiresAt, maxDays, limits, secondFactorRoles }: NewAccessToken,
): Promise<{ token: string; record: AccessToken }> {
  const latest = Date.now() + maxDays * DAY_MS;
  if (expiresAt.getTime() <= Date.now() || expiresAt.getTime() > latest) {
    const message = `must be a time within the next ${counted(maxDays, 'day')}`;
    throw invalid([{ pointer: '/expires_at', code: 'out_of_range', message }]);
  }
  await checkScopes(em, actor, scopes);
  const token = newToken();
  const waits = await startsWaiting(em, actor.id, secondFactorRoles);
  const secret = [hashToken(token), token.slice(-4)];
  const [record] = await em.execute<TokenRow[]>(
    `insert into access_token (id, user_id, name, token_hash, hint, scopes, expires_at, awaits_second_factor)
     values (?, ?, ?, ?, ?, ?::text[], ?, ?) returning ${COLUMNS}`,
    [uuidv7(), actor.id, name, ...secret, arrayLiteral(new Set(scopes)), expiresAt, waits],
  );
  if (record === undefined) throw new Error('the token was not stored');
  await checkQuota(em, limits, 'tokens', actor.id);
  return { token, record: tokenOf(record) };
}

/** @throws 422 for an unknown scope, `admin` without the role, or a workflow that the caller cannot see */
export async function checkScopes(em: EntityManager, actor: Actor, scopes: readonly string[]): Promise<void> {
  const refuse = (index: number, message: string): never => {
    throw invalid([{ pointer: `/scopes/${index}`, code: 'invalid_scope', message }]);
  };
  for (const [index, scope] of scopes.entries()) {
    if (!isScopeText(scope)) refuse(index, noScope(scope));
    if (scope === 'admin' && !hasRole(actor, 'admin')) refuse(index, 'is for administrators');
    const workflow = WORKFLOW_SCOPE.exec(scope)?.[1];
    if (workflow === undefined) continue;
    const [seen, startable] = [seenBy(actor, 'w'), startableBy(actor)];
    const found = await em.execute<object[]>(
      `select 1 from workflow w where w.id = ? and (${seen.sql} or ${startable.sql})`,
      [workflow, ...seen.values, ...startable.values],
    );
    if (found.length === 0) refuse(index, 'names no workflow that its user may see');
  }
}

function newToken(): string {
  let random = '';
  while (random.length < RANDOM_LENGTH) {
    // Bytes above are left out, so that each character is as likely as the others.
    for (const byte of randomBytes(RANDOM_LENGTH))
      if (byte < 248 && random.length < RANDOM_LENGTH) random += ALPHABET[byte % ALPHABET.length];
  }
  return `${PREFIX}${random}${checksum(random)}`;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let count = 0; count < CHECKSUM_LENGTH; count += 1) {
    digits = (ALPHABET[rest % ALPHABET.length] ?? '') + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

/** Whether a bearer token looks like one of these; its checksum is compared before the database is asked. */
export function isAccessToken(token: string): boolean {
  return token.startsWith(PREFIX);
}

interface CallerRow {
  id: string;
  user_id: string;
  username: string;
  roles: Role[];
  groups: string[];
  teams: TeamRole[];
  awaits: boolean;
  token_epoch: number;
  scopes: string[];
  exp: number;
  due: boolean;
}

const CALLER = new Prepared(
  `select t.id, u.id as user_id, u.username, ${rightsUnless('t.awaits_second_factor')},
          u.token_epoch, t.scopes,
          floor(extract(epoch from t.expires_at))::int as exp,
          coalesce(t.last_used_at < now() - interval '1 minute', true) as due
     from access_token t join user_account u on u.id = t.user_id
    where t.token_hash = decode(?, 'hex') and t.expires_at > now() and u.status = 'active'`,
);

/** The user of a token by one indexed read; null if it is unknown or has ended, or the user is disabled. */
export async function accessTokenCaller(
  em: EntityManager,
  token: string,
  address: string | null = null,
): Promise<Caller | null> {
  const [, random, sum] = PATTERN.exec(token) ?? [];
  if (random === undefined || checksum(random) !== sum) return null;
  const [row] = await CALLER.execute<CallerRow>(em, [hashToken(token).toString('hex')]);
  if (row === undefined) return null;
  if (row.due) await noteUse(em, row.id, address);
  const { username, roles, groups, teams, awaits, scopes } = row;
  const waiting = awaits && { awaitsSecondFactor: true as const };
  return {
    actor: tokenActor({ id: row.user_id, username, roles, groups, teams, ...waiting }, scopes),
    claims: { sub: row.user_id, sid: row.id, client_id: row.id, epoch: row.token_epoch, exp: row.exp },
  };
}

function tokenActor(user: Actor, scopes: string[]): Actor {
  return { ...scopedActor(user, scopes), accessToken: true };
}

/** At most once a minute, so that a busy token does not write with each request. */
async function noteUse(em: EntityManager, id: string, address: string | null): Promise<void> {
  await em.execute(
    `update access_token set last_used_at = now(), last_address = coalesce(?, last_address)
      where id = ? and coalesce(last_used_at < now() - interval '1 minute', true)`,
    [address, id],
  );
}

/** Oldest first. */
export async function listAccessTokens(
  em: EntityManager,
  userId: string,
  page: KeysetPage,
): Promise<AccessToken[]> {
  const rows = await em.execute<TokenRow[]>(
    `select ${COLUMNS} from access_token where user_id = ? and id > ? order by id limit ?`,
    [userId, page.after ?? '00000000-0000-0000-0000-000000000000', page.limit],
  );
  return rows.map(tokenOf);
}

/** The token stops working at once. @throws 404 */
export async function deleteAccessToken(em: EntityManager, userId: string, id: string): Promise<void> {
  const deleted = await em.execute<object[]>(
    'delete from access_token where id = ? and user_id = ? returning 1',
    [id, userId],
  );
  if (deleted.length === 0) throw notFound('access token');
}

type Times = 'created_at' | 'expires_at' | 'last_used_at';
type TokenRow = Omit<AccessToken, Times> & {
  created_at: string | Date;
  expires_at: string | Date;
  last_used_at: string | Date | null;
};

function tokenOf(row: TokenRow): AccessToken {
  return {
    ...row,
    created_at: new Date(row.created_at),
    expires_at: new Date(row.expires_at),
    last_used_at: row.last_used_at === null ? null : new Date(row.last_used_at),
  };
}
