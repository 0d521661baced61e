/** The audit log: who did what, when and from where (docs/audit.md). */
import { Readable } from 'node:stream';
import * as z from 'zod';

import type { EntityManager } from '../../../db/orm.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { userIdOf } from '../../../domain/auth/actor.ts';
import { listAudit, type AuditEntry, type AuditFilter, type AuditKey } from '../../../domain/audit/list.ts';
import { verifyAudit } from '../../../domain/audit/verify.ts';
import { AUDIT_COLUMNS, CREDENTIALS, OUTCOMES, VIAS } from '../../../domain/audit/write.ts';
import { badRequest } from '../../../domain/errors.ts';
import { CSV, csvLine } from '../../csv.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { readPage, type ListOrder } from '../../paging.ts';
import { bigintText, instant, pageQuery, personOrMe, timestamp, uuid } from '../../schemas.ts';

const MAX_EXPORTED = 100_000;
const EXPORT_PAGE = 1_000;
const MAX_HEADS = 20;
const NDJSON = 'application/x-ndjson';
const tags = ['audit'];

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
  })
  .meta({ id: 'AuditEntry' });

const filters = {
  actor_id: personOrMe.optional(),
  action: z.string().max(100).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  object_type: z.string().max(100).optional(),
  object_id: z.string().max(255).optional(),
  address: z.string().max(100).optional(),
  from: instant.optional(),
  to: instant.optional().meta({ description: 'Before this time.' }),
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

export function auditEndpoints(deps: Pick<AppDeps, 'orm'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/audit',
      operationId: 'listAudit',
      summary: 'List the audit log, newest first: admins all of it, others what they did themselves',
      tags,
      role: 'viewer',
      scope: 'audit:read',
      query: z.object({ ...pageQuery, ...filters }),
      responses: { 200: z.array(auditRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byTime, (page, filter) =>
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
      description: 'The export itself is in the log. Take a longer log in parts, by `from` and `to`.',
      tags,
      role: 'viewer',
      scope: 'audit:read',
      query: z.object({ ...filters, format: z.enum(['ndjson', 'csv']).default('ndjson') }),
      responses: { 200: media({ [NDJSON]: z.string(), [CSV]: z.string() }) },
      handler: async (c) => {
        const { format, ...filter } = c.query;
        await c.audit.write(c.em);
        const rows = exported(() => deps.orm.em.fork(), c.actor, filterOf(c.actor, filter));
        const lines = format === 'csv' ? csvLines(rows) : ndjsonLines(rows);
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
      tags,
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

function present(entry: AuditEntry): z.output<typeof auditRecord> {
  const { fields = [], changes = {}, ...details } = entry.data;
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
  };
}

/** Read page by page, each in a statement of its own, so that a slow reader holds no connection. */
async function* exported(
  fork: () => EntityManager,
  actor: Actor,
  filter: AuditFilter,
): AsyncGenerator<AuditEntry> {
  let after: AuditKey | undefined;
  for (let count = 0; count < MAX_EXPORTED; count += EXPORT_PAGE) {
    const rows = await listAudit(fork(), actor, filter, { after, limit: EXPORT_PAGE });
    yield* rows;
    const last = rows.at(-1);
    if (rows.length < EXPORT_PAGE || last === undefined) return;
    after = [last.at, last.id];
  }
}

async function* ndjsonLines(rows: AsyncIterable<AuditEntry>): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(present(row))}\n`;
}

const COLUMNS = ['id', 'at', ...AUDIT_COLUMNS] as const;

async function* csvLines(rows: AsyncIterable<AuditEntry>): AsyncGenerator<string> {
  yield csvLine([...COLUMNS, 'data']);
  for await (const row of rows)
    yield csvLine([...COLUMNS.map((name) => row[name]), JSON.stringify(row.data)]);
}
