/** The audit log: who did what, when and from where (docs/audit.md). */
import { Readable } from 'node:stream';
import * as z from 'zod';

import type { EntityManager } from '../../../db/orm.ts';
import { encodeCursor } from '../../../db/sql.ts';
import { OTHER_ACTIONS } from '../../../contracts/audit-actions.ts';
import { didYouMeanName } from '../../../contracts/suggest.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { userIdOf } from '../../../domain/auth/actor.ts';
import { followAudit, type AuditPlace } from '../../../domain/audit/follow.ts';
import {
  checkTeamLog,
  isLoggedAction,
  listAudit,
  type AuditEntry,
  type AuditFilter,
  type AuditKey,
} from '../../../domain/audit/list.ts';
import { verifyAudit } from '../../../domain/audit/verify.ts';
import { AUDIT_COLUMNS, CREDENTIALS, heldBy, OUTCOMES, VIAS } from '../../../domain/audit/write.ts';
import { badRequest } from '../../../domain/errors.ts';
import { CSV, csvLine } from '../../csv.ts';
import type { AppDeps } from '../../deps.ts';
import {
  endpoint,
  media,
  type Endpoint,
  type EndpointContext,
  type EndpointResponse,
} from '../../endpoint.ts';
import { decodeKey, invalidCursor, nextLink, readPage, type ListOrder } from '../../paging.ts';
import { bigintText, instant, pageQuery, personOrMe, timestamp, uuid } from '../../schemas.ts';

const MAX_EXPORTED = 100_000;
const EXPORT_PAGE = 1_000;
const MAX_HEADS = 20;
const NDJSON = 'application/x-ndjson';
const TAGS = ['audit'];

const value = z.unknown();
const auditRecord = z
  .object({
    id: z.string().meta({ description: 'A number that grows; entries of one moment may be out of order.' }),
    at: timestamp,
    actor: z
      .object({ id: uuid, username: z.string().nullable() })
      .nullable()
      .meta({ description: 'Whoever did it, by the present name. Of a failed log-in: whose account.' }),
    action: z
      .string()
      .meta({ description: 'An `operationId`, or a name of docs/audit.md such as `log_in`.' }),
    outcome: z.enum(OUTCOMES).meta({ description: '`refused`: 403, or a wrong credential.' }),
    object: z.object({ type: z.string(), id: z.string().nullable() }).nullable(),
    credential: z.object({
      type: z.enum(CREDENTIALS),
      id: z.string().nullable().meta({ description: 'Of the session, access token or machine client.' }),
    }),
    via: z.enum(VIAS),
    address: z.string().nullable(),
    user_agent: z.string().nullable(),
    request_id: z.string().nullable(),
    fields: z.array(z.string()).meta({ description: 'Names of the fields that the request had.' }),
    changes: z
      .record(z.string(), z.object({ old: value.optional(), new: value.optional() }))
      .meta({ description: 'Fields that changed, with their values where these are harmless.' }),
    details: z.record(z.string(), z.unknown()),
    team_id: uuid.nullable().meta({
      description:
        'The team that held the object when it was done. Entries of before this was noted have none.',
    }),
    to_team_id: uuid.nullable().meta({ description: 'The team to which the object moved.' }),
    cursor: z
      .string()
      .optional()
      .meta({ description: 'Only with `after`: what to give as `after` to go on after this entry.' }),
  })
  .meta({ id: 'AuditEntry' });

const filters = {
  actor_id: personOrMe.optional(),
  action: z
    .string()
    .max(100)
    .optional()
    .meta({
      description:
        'An `operationId`, or a name of docs/audit.md such as `log_in`. Refused if it is neither, and no ' +
        'entry has it.',
    }),
  outcome: z.enum(OUTCOMES).optional(),
  object_type: z.string().max(100).optional(),
  object_id: z.string().max(255).optional(),
  address: z.string().max(100).optional(),
  from: instant.optional(),
  to: instant.optional().meta({ description: 'Before this time.' }),
  team_id: uuid.optional().meta({
    description: 'Of what this team held then, or what moved to it. For its admins, and for administrators.',
  }),
  after: z
    .string()
    .max(200)
    .optional()
    .meta({
      description:
        'Oldest first, the entries after this cursor: `cursor` of the last entry that was read, or 0 for ' +
        'all. They come once they are sealed, about ten seconds after they were written. None comes later ' +
        'before a cursor.',
    }),
};

const sealHead = z.object({ no: z.string(), hash: z.string() }).meta({ id: 'AuditHead' });

const verificationRecord = z
  .object({
    ok: z.boolean(),
    seals: z.int().meta({ description: 'Seals that were checked.' }),
    entries: z.int(),
    removed: z.int().meta({ description: 'Seals whose entries were removed after their time.' }),
    removed_after_days: z
      .int()
      .nullable()
      .meta({ description: 'The least days after which entries were removed; null if none were.' }),
    unsealed: z.int().meta({ description: 'Entries that wait for the sealer, which runs every 10 seconds.' }),
    head: sealHead.nullable().meta({ description: 'The newest seal; null while there is more to check.' }),
    problems: z.array(z.object({ seal: z.string(), code: z.string(), message: z.string() })),
    next: z.string().nullable().meta({ description: '`after` of the next request; null at the end.' }),
  })
  .meta({ id: 'AuditVerification' });

/** By time, and by id within one moment. */
const byTime: ListOrder<AuditEntry, AuditKey> = {
  key: z.tuple([instant, bigintText]),
  valuesOf: ({ at, id }) => [at, id],
};

/** @param operationIds of the whole API */
export function auditEndpoints(
  deps: Pick<AppDeps, 'orm'>,
  operationIds: () => readonly string[],
): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/audit',
      operationId: 'listAudit',
      summary: 'List the audit log, newest first: admins all of it, others what they did themselves',
      description:
        'With `team_id` admins of the team see what was done to what it holds. With `after` it is read ' +
        'oldest first, and each answer has a `Link` to what follows, also the last one: ask again there ' +
        'later. One answer looks through up to 10,000 entries, so it may be empty although others follow; ' +
        'there is nothing new if the cursor in the `Link` is the one that was given.',
      tags: TAGS,
      role: 'viewer',
      scope: 'audit:read',
      query: z.object({ ...pageQuery, ...filters }),
      responses: { 200: z.array(auditRecord) },
      errors: [403, 404, 410],
      handler: async (c) => {
        const { after, limit, cursor, ...filter } = c.query;
        await checkAction(c.em, filter.action, operationIds);
        if (after !== undefined) {
          if (cursor !== undefined) throw badRequest('cursor_and_after', 'Give either cursor or after.');
          const page = { after: placeOf(after), limit };
          return follow(c, await followAudit(c.em, c.actor, filterOf(c.actor, filter), page));
        }
        const { items, headers } = await readPage(c, byTime, (page) =>
          listAudit(c.em, c.actor, filterOf(c.actor, filter), page),
        );
        return { status: 200, body: items.map(present), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/audit/export',
      operationId: 'exportAudit',
      summary: `Get the audit log as a stream, newest first, at most ${MAX_EXPORTED} entries`,
      description:
        'The export itself is in the log. Take a longer log in parts, by `from` and `to`, or oldest first ' +
        'with `after`, where each entry has its `cursor`. Programs that ask again and again use `GET ' +
        '/audit`, which is not in the log.',
      tags: TAGS,
      role: 'viewer',
      scope: 'audit:read',
      query: z.object({ ...filters, format: z.enum(['ndjson', 'csv']).default('ndjson') }),
      responses: { 200: media({ [NDJSON]: z.string(), [CSV]: z.string() }) },
      errors: [403, 404, 410],
      handler: async (c) => {
        const { format, after, ...query } = c.query;
        const filter = filterOf(c.actor, query);
        const fork = () => deps.orm.em.fork();
        if (filter.team_id !== undefined) checkTeamLog(c.actor, filter.team_id);
        await checkAction(c.em, filter.action, operationIds);
        const pages =
          after === undefined
            ? newestFirst(fork, c.actor, filter)
            : await oldestFirst(fork, c.actor, filter, placeOf(after));
        await c.audit.write(c.em, heldBy(filter.team_id));
        const rows = bounded(pages);
        const lines = format === 'csv' ? csvLines(rows, after !== undefined) : ndjsonLines(rows);
        return { status: 200, type: format === 'csv' ? CSV : NDJSON, body: Readable.from(lines) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/audit/verification',
      operationId: 'verifyAudit',
      summary: 'Check the chain of the audit log: up to 200 seals a request',
      description:
        'Start without `after`, then go on with `next`. `head` names a seal and its hash, as `no:hash`, ' +
        'that were noted elsewhere; it may be repeated.',
      tags: TAGS,
      role: 'admin',
      query: z.object({
        after: z
          .string()
          .regex(/^\d{1,18}$/)
          .default('0'),
        head: z.union([z.string(), z.array(z.string()).max(MAX_HEADS)]).optional(),
      }),
      responses: { 200: verificationRecord },
      handler: async (c) => {
        const { after, head = [] } = c.query;
        const expected = [head].flat().map(headOf);
        return { status: 200, body: await verifyAudit(c.em, { after: BigInt(after), expected }) };
      },
    }),
  ];
}

/**
 * A name that is mistyped would find nothing, as if nobody had done it. Entries keep the names of former
 * releases.
 * @throws 400 that names a near one
 */
async function checkAction(
  em: EntityManager,
  action: string | undefined,
  operationIds: () => readonly string[],
): Promise<void> {
  if (action === undefined || OTHER_ACTIONS.includes(action)) return;
  const known = [...OTHER_ACTIONS, ...operationIds()];
  if (known.includes(action) || (await isLoggedAction(em, action))) return;
  const meant = didYouMeanName(action, known);
  const hint = meant === '' ? ': it is an operationId of the API, or a name such as log_in' : meant;
  const message = `is no action of the audit log${hint}`;
  throw badRequest('invalid_query', `action ${message}`, [
    { pointer: 'action', code: 'unknown_action', message },
  ]);
}

function headOf(text: string): { no: string; hash: string } {
  const [, no, hash] = /^(\d{1,18}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (no === undefined || hash === undefined)
    throw badRequest('invalid_head', 'head must be the number of a seal and its hash: 12:3f….');
  return { no: String(BigInt(no)), hash };
}

type FilterQuery = Omit<AuditFilter, 'actor_id'> & { actor_id?: string | undefined };

function filterOf(actor: Actor, { actor_id: person, ...filter }: FilterQuery): AuditFilter {
  return { ...filter, ...(person === undefined ? {} : { actor_id: userIdOf(actor, person) }) };
}

/** @throws 400 */
function placeOf(after: string): AuditPlace | null {
  if (after === '0') return null;
  const place = decodeKey(after, placeKey);
  if (place === null) throw invalidCursor('after');
  return place;
}

const placeKey = z.tuple([bigintText, z.string().regex(/^[0-9a-f]{16}$/), bigintText, bigintText]);

function cursorOf(place: AuditPlace | null): string {
  return place === null ? '0' : encodeCursor(place);
}

function follow(
  c: EndpointContext,
  { entries, next }: Awaited<ReturnType<typeof followAudit>>,
): EndpointResponse {
  return {
    status: 200,
    body: entries.map(present),
    headers: { Link: nextLink(c, cursorOf(next), 'after') },
  };
}

type Shown = AuditEntry & { place?: AuditPlace };

function present({ place, ...entry }: Shown): z.output<typeof auditRecord> {
  const { fields = [], changes = {}, team_id: team, to_team_id: goal, ...details } = entry.data;
  return {
    id: entry.id,
    at: entry.at,
    actor: entry.actor_id === null ? null : { id: entry.actor_id, username: entry.actor_name },
    action: entry.action,
    outcome: entry.outcome,
    object: entry.object_type === null ? null : { type: entry.object_type, id: entry.object_id },
    credential: { type: entry.credential, id: entry.credential_id },
    via: entry.via,
    address: entry.address,
    user_agent: entry.user_agent,
    request_id: entry.request_id,
    fields,
    changes,
    details,
    team_id: team ?? null,
    to_team_id: goal ?? null,
    ...(place && { cursor: cursorOf(place) }),
  };
}

/** Read page by page, each in a statement of its own, so that a slow reader holds no connection. */
async function* newestFirst(
  fork: () => EntityManager,
  actor: Actor,
  filter: AuditFilter,
): AsyncGenerator<Shown[]> {
  for (let after: AuditKey | undefined; ;) {
    const rows = await listAudit(fork(), actor, filter, { after, limit: EXPORT_PAGE });
    yield rows;
    const last = rows.at(-1);
    if (rows.length < EXPORT_PAGE || last === undefined) return;
    after = [last.at, last.id];
  }
}

/** The first page is read before the answer begins, so that a place that is gone is refused. */
async function oldestFirst(
  fork: () => EntityManager,
  actor: Actor,
  filter: AuditFilter,
  begin: AuditPlace | null,
): Promise<AsyncGenerator<Shown[]>> {
  const read = (after: AuditPlace | null) =>
    followAudit(fork(), actor, filter, { after, limit: EXPORT_PAGE });
  const first = await read(begin);
  return (async function* pages() {
    for (
      let [page, after] = [first, begin];
      cursorOf(page.next) !== cursorOf(after);
      page = await read(after)
    ) {
      yield page.entries;
      after = page.next;
    }
  })();
}

async function* bounded(pages: AsyncIterable<Shown[]>): AsyncGenerator<Shown> {
  let left = MAX_EXPORTED;
  for await (const page of pages) {
    yield* page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}

async function* ndjsonLines(rows: AsyncIterable<Shown>): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(present(row))}\n`;
}

const COLUMNS = ['id', 'at', ...AUDIT_COLUMNS] as const;

async function* csvLines(rows: AsyncIterable<Shown>, withCursor: boolean): AsyncGenerator<string> {
  yield csvLine([...COLUMNS, 'team_id', 'to_team_id', 'data', ...(withCursor ? ['cursor'] : [])]);
  for await (const row of rows) {
    const { team_id: team = null, to_team_id: goal = null } = row.data;
    const own = [...COLUMNS.map((name) => row[name]), team, goal, JSON.stringify(row.data)];
    yield csvLine([...own, ...(withCursor ? [cursorOf(row.place ?? null)] : [])]);
  }
}
