/** A person's data: what there is, and its erasure (docs/privacy.md). */
import { Readable } from 'node:stream';
import * as z from 'zod';

import type { UserAccount } from '../../../db/entities/user-account.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { checkFreshLogin } from '../../../domain/auth/clients.ts';
import { getUser } from '../../../domain/auth/users.ts';
import { invalid } from '../../../domain/errors.ts';
import { continueErasures } from '../../../domain/privacy/continue-erasures.ts';
import {
  beginErasure,
  checkErasable,
  planErasure,
  readErasure,
  RUN_CHOICES,
  type ErasureReport,
} from '../../../domain/privacy/erase.ts';
import { personalData, type PersonalRecord } from '../../../domain/privacy/export.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, media, type Endpoint, type EndpointResponse } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { idParams, text, timestamp, uuid } from '../../schemas.ts';

const NDJSON = 'application/x-ndjson';
/** How long the answer waits for the work; the rest follows within seconds. */
const ANSWER_MS = 3_000;

const counts = z.record(z.string(), z.int());

const erasureRecord = z
  .object({
    user_id: uuid,
    status: z.enum(['planned', 'running', 'done']),
    runs: z.enum(RUN_CHOICES),
    requested_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    owned: z
      .record(z.string(), z.object({ count: z.int(), ids: z.array(uuid) }))
      .meta({ description: 'What has to be handed over first, with the first ids of each kind.' }),
    removed: counts.meta({ description: 'Records by kind.' }),
    replaced: counts.meta({ description: 'Records that stay without the name.' }),
    kept: z.array(z.object({ kind: z.string(), count: z.int().nullable(), why: z.string() })),
  })
  .meta({ id: 'Erasure' });

const erasureRequest = z
  .strictObject({
    dry_run: z.boolean().default(false).meta({ description: 'Only report what would happen.' }),
    runs: z
      .enum(RUN_CHOICES)
      .default('keep')
      .meta({ description: 'Ended runs that the user owns: `remove` takes them along.' }),
    confirm: text({ max: 255 }).optional().meta({ description: 'The username, unless `dry_run`.' }),
  })
  .meta({ id: 'ErasureRequest' });

export function privacyEndpoints(deps: AppDeps): Endpoint[] {
  const fork = () => deps.orm.em.fork();
  const exported = (userId: string): EndpointResponse => ({
    status: 200,
    type: NDJSON,
    body: Readable.from(lines(personalData(fork, userId))),
    headers: {
      'Cache-Control': 'no-store',
      'Content-Disposition': `attachment; filename="personal-data-${userId}.ndjson"`,
    },
  });
  const description =
    'A stream of lines `{"section": …, "record": …}`. Secrets, hashes and keys are not in it. ' +
    'The request is in the audit log.';
  return [
    endpoint({
      method: 'GET',
      path: '/users/me/personal-data',
      operationId: 'getMyPersonalData',
      summary: 'Get what is stored about you',
      description,
      tags: ['users'],
      role: 'viewer',
      scope: 'person',
      responses: { 200: media({ [NDJSON]: z.string() }) },
      handler: async (c) => {
        void c.query;
        await c.audit.write(c.em, { objectType: 'user', objectId: c.actor.id });
        return exported(c.actor.id);
      },
    }),
    endpoint({
      method: 'GET',
      path: '/users/{id}/personal-data',
      operationId: 'getPersonalData',
      summary: 'Get what is stored about a user',
      description,
      tags: ['users'],
      role: 'admin',
      params: idParams,
      responses: { 200: media({ [NDJSON]: z.string() }) },
      handler: async (c) => {
        const { id } = await getUser(c.em, c.params.id);
        void c.query;
        await c.audit.write(c.em);
        return exported(id);
      },
    }),
    erasureEndpoint(),
    eraseEndpoint(deps),
  ];
}

function erasureEndpoint(): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/users/{id}/erasure',
    operationId: 'getErasure',
    summary: "Get the report of the erasure of a user's data",
    tags: ['users'],
    role: 'admin',
    params: idParams,
    responses: { 200: erasureRecord },
    handler: async (c) => {
      const { id } = await getUser(c.em, c.params.id);
      void c.query;
      return { status: 200, body: present(await readErasure(c.em, id)) };
    },
  });
}

function eraseEndpoint({ orm, files }: AppDeps): Endpoint {
  const fork = () => orm.em.fork();
  return endpoint({
    method: 'POST',
    path: '/users/{id}/erase',
    operationId: 'eraseUser',
    summary: "Erase a user's personal data",
    description:
      'The account is emptied and can never be used again; its id stays, because history names it. ' +
      'Needs a log-in at most 5 minutes old. What the user owns has to be handed over first: 409 ' +
      '`owns_objects` names it. The answer is the report; while its status is `running`, ' +
      '`GET /users/{id}/erasure` has the rest. It cannot be undone.',
    tags: ['users'],
    role: 'admin',
    params: idParams,
    body: erasureRequest,
    idempotent: false,
    responses: { 200: erasureRecord, 202: erasureRecord },
    errors: [401, 409],
    handler: async (c) => {
      const user = await getUser(c.em, c.params.id, true);
      checkFreshLogin(claimsOf(c.ctx));
      c.checkSyntax();
      const given = c.readBody();
      const isDry = 'value' in given && given.value.dry_run;
      if (!isDry) await checkErasable(c.em, c.actor, user);
      const { runs, confirm } = c.body;
      if (isDry) {
        c.audit.note({ data: { dry_run: true } });
        return { status: 200, body: present(await planErasure(c.em, user, runs)) };
      }
      checkConfirmed(user, confirm);
      await beginErasure(c.em, c.actor, user, runs);
      await c.audit.write(c.em, { data: { runs } });
      c.afterCommit(async () => {
        // It is begun in any case, and the next round tries again and logs what fails, perhaps of another.
        await continueErasures({ fork, files }, ANSWER_MS).catch(() => true);
        return answerOf(fork(), user.id);
      });
      return answerOf(c.em, user.id);
    },
  });
}

/** @throws 422 */
function checkConfirmed({ username }: UserAccount, confirm: string | undefined): void {
  if (confirm === username) return;
  const message = 'must be the username, because this cannot be undone';
  throw invalid([{ pointer: '/confirm', code: 'not_confirmed', message }]);
}

async function answerOf(em: EntityManager, userId: string): Promise<EndpointResponse> {
  const report = await readErasure(em, userId);
  return { status: report.status === 'done' ? 200 : 202, body: present(report) };
}

function present(report: ErasureReport): z.output<typeof erasureRecord> {
  const { requested_at: requested, finished_at: finished } = report;
  return {
    ...report,
    requested_at: requested?.toISOString() ?? null,
    finished_at: finished?.toISOString() ?? null,
  };
}

async function* lines(records: AsyncIterable<PersonalRecord>): AsyncGenerator<string> {
  for await (const one of records) yield `${JSON.stringify(one)}\n`;
}
