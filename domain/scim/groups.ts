/** Groups of an issuer as SCIM resources. Cadenza calls them `<issuer's name>:<displayName>`. */
import * as z from 'zod';
import { v7 as uuidv7 } from 'uuid';

import { issueText } from '../../contracts/issue-texts.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { isGroupName } from '../identity/claims.ts';
import type { Issuer } from '../identity/issuers.ts';
import { ScimError } from './errors.ts';
import { compileFilter, type Attribute } from './filter.ts';
import { settle, type Provisioning, type ScimPage } from './users.ts';

export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const MAX_MEMBERS = 5_000;
const MAX_GROUPS = 5_000;
/** Of all groups in an answer together, which are two MiB of text. A group always comes whole. */
const MAX_MEMBERS_OF_PAGE = 10_000;

const groupBody = z.looseObject({
  displayName: z.string().refine(isGroupName, 'must have 1 to 100 visible characters'),
  externalId: z.string().max(255).nullish(),
  members: z.array(z.looseObject({ value: z.string().max(100) })).nullish(),
});
type GroupBody = z.output<typeof groupBody>;

export interface ScimGroup {
  id: string;
  resource: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
}

interface Row {
  id: string;
  name: string;
  external_id: string | null;
  /** Null: left out. */
  members: { value: string; display: string }[] | null;
  created_at: string;
  updated_at: string;
}

const ATTRIBUTES: ReadonlyMap<string, Attribute> = new Map([
  ['id', { sql: 'g.id', type: 'exact' }],
  ['displayname', { sql: 'g.name', type: 'text' }],
  ['externalid', { sql: 'g.external_id', type: 'exact' }],
  ['meta.created', { sql: 'g.created_at', type: 'time' }],
  ['meta.lastmodified', { sql: 'g.updated_at', type: 'time' }],
] as const);

const columns = (withMembers: boolean): string => `g.id, g.name, g.external_id, g.created_at, g.updated_at,
  ${withMembers ? MEMBERS : 'null::json'} as members`;
const MEMBERS = `(select coalesce(json_agg(json_build_object('value', u.id, 'display', u.username)
    order by u.id), '[]') from identity_group_member m join user_account u on u.id = m.user_id
   where m.group_id = g.id)`;

/**
 * Oldest first. Lists may leave the members out. With them, a page ends before a group whose members would be
 * too many for it.
 */
export async function listScimGroups(
  em: EntityManager,
  issuer: Issuer,
  { filter, startIndex, count }: ScimPage,
  withMembers: boolean,
): Promise<{ total: number; groups: ScimGroup[] }> {
  const where = filter === undefined ? { sql: 'true', values: [] } : compileFilter(filter, ATTRIBUTES);
  const from = `from identity_group g where g.issuer_id = ? and (${where.sql})`;
  const [counted] = await em.execute<{ total: number }[]>(`select count(*)::int as total ${from}`, [
    issuer.id,
    ...where.values,
  ]);
  const rows =
    count === 0
      ? []
      : await em.execute<Row[]>(`select ${columns(false)} ${from} order by g.id offset ? limit ?`, [
          issuer.id,
          ...where.values,
          startIndex - 1,
          count,
        ]);
  const groups = withMembers ? await fillPage(em, rows) : rows;
  return { total: counted?.total ?? 0, groups: groups.map(groupOf) };
}

/** The groups, in the order of their ids, up to the last that comes whole. */
async function fillPage(em: EntityManager, rows: readonly Row[]): Promise<Row[]> {
  const members = await em.execute<{ group_id: string; value: string; display: string }[]>(
    `select m.group_id, u.id as value, u.username as display
       from identity_group_member m join user_account u on u.id = m.user_id
      where m.group_id = any(?::uuid[]) order by m.group_id, m.user_id limit ?`,
    [arrayLiteral(rows.map(({ id }) => id)), MAX_MEMBERS_OF_PAGE + 1],
  );
  const byGroup = Map.groupBy(members, ({ group_id: id }) => id);
  const filled = rows.map((row) => ({
    ...row,
    members: (byGroup.get(row.id) ?? []).map(({ value, display }) => ({ value, display })),
  }));
  if (members.length <= MAX_MEMBERS_OF_PAGE) return filled;
  const cut = members.at(-1)?.group_id;
  return filled.slice(
    0,
    filled.findIndex(({ id }) => id === cut),
  );
}

/** @throws ScimError 404 */
export async function getScimGroup(
  em: EntityManager,
  issuer: Issuer,
  id: string,
  { lock = false, withMembers = true }: { lock?: boolean; withMembers?: boolean } = {},
): Promise<ScimGroup> {
  const [row] = isUuid(id)
    ? await em.execute<Row[]>(
        `select ${columns(withMembers)} from identity_group g where g.issuer_id = ? and g.id = ?
           ${lock ? 'for update of g' : ''}`,
        [issuer.id, id],
      )
    : [];
  if (!row) throw new ScimError(404, 'There is no such group.');
  return groupOf(row);
}

/** @param id of the group that is replaced; null for a new one @throws ScimError 400, 409 */
export async function putScimGroup(scim: Provisioning, id: string | null, body: unknown): Promise<ScimGroup> {
  const { em, issuer } = scim;
  const group = parseGroup(body);
  await refuseTaken(em, issuer, group, id);
  const key = id ?? uuidv7();
  const [former] = await em.execute<{ name: string }[]>('select name from identity_group where id = ?', [
    key,
  ]);
  await em.execute(
    `insert into identity_group (id, issuer_id, name, external_id) values (?, ?, ?, ?)
     on conflict (id) do update set name = excluded.name, external_id = excluded.external_id,
                                    updated_at = clock_timestamp()`,
    [key, issuer.id, group.displayName, group.externalId ?? null],
  );
  const isRenamed = former !== undefined && former.name !== group.displayName;
  const affected = await setMembers(em, issuer, key, group, isRenamed);
  await settle(scim, affected);
  return getScimGroup(em, issuer, key);
}

export async function deleteScimGroup(scim: Provisioning, id: string): Promise<void> {
  const { em } = scim;
  const members = await membersOf(em, id);
  await em.execute('delete from identity_group where id = ?', [id]);
  await settle(scim, members);
}

/** @returns everybody whose groups have changed, in the order of their ids */
async function setMembers(
  em: EntityManager,
  issuer: Issuer,
  id: string,
  { members }: GroupBody,
  isRenamed: boolean,
): Promise<string[]> {
  const wanted = [...new Set((members ?? []).map(({ value }) => value.toLowerCase()))];
  const known = await em.execute<{ id: string }[]>(
    'select id from user_account where issuer_id = ? and id = any(?::uuid[])',
    [issuer.id, arrayLiteral(wanted.filter(isUuid))],
  );
  if (known.length < wanted.length)
    throw new ScimError(400, 'members names a user who does not exist.', 'invalidValue');
  const before = await membersOf(em, id);
  await em.execute('delete from identity_group_member where group_id = ?', [id]);
  await em.execute(
    'insert into identity_group_member (group_id, user_id) select ?::uuid, unnest(?::uuid[])',
    [id, arrayLiteral(wanted)],
  );
  const [left, joined] = [new Set(before), new Set(wanted)];
  return [...new Set([...before, ...wanted])]
    .filter((userId) => isRenamed || !left.has(userId) || !joined.has(userId))
    .toSorted();
}

async function membersOf(em: EntityManager, id: string): Promise<string[]> {
  const rows = await em.execute<{ user_id: string }[]>(
    'select user_id from identity_group_member where group_id = ? order by user_id',
    [id],
  );
  return rows.map(({ user_id: userId }) => userId);
}

function parseGroup(body: unknown): GroupBody {
  const parsed = groupBody.safeParse(body, { error: issueText });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ScimError(400, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`, 'invalidValue');
  }
  if ((parsed.data.members?.length ?? 0) > MAX_MEMBERS)
    throw new ScimError(400, `A group has at most ${MAX_MEMBERS} members.`, 'tooMany');
  return parsed.data;
}

async function refuseTaken(
  em: EntityManager,
  issuer: Issuer,
  { displayName }: GroupBody,
  id: string | null,
): Promise<void> {
  const [row] = await em.execute<{ all: number; taken: boolean }[]>(
    `select count(*)::int as all, coalesce(bool_or(lower(name) = lower(?)), false) as taken
       from identity_group where issuer_id = ? and id is distinct from ?::uuid`,
    [displayName, issuer.id, id],
  );
  if (row?.taken) throw new ScimError(409, 'Another group has this displayName.', 'uniqueness');
  if ((row?.all ?? 0) >= MAX_GROUPS)
    throw new ScimError(400, `An issuer has at most ${MAX_GROUPS} groups.`, 'tooMany');
}

function groupOf(row: Row): ScimGroup {
  return {
    id: row.id,
    created_at: new Date(row.created_at),
    updated_at: new Date(row.updated_at),
    resource: {
      schemas: [GROUP_SCHEMA],
      id: row.id,
      ...(row.external_id === null ? {} : { externalId: row.external_id }),
      displayName: row.name,
      ...(row.members === null
        ? {}
        : { members: row.members.map((member) => ({ ...member, type: 'User' })) }),
    },
  };
}
