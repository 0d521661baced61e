/** A person's data: what there is, and its erasure (docs/privacy.md). */
import { Readable } from 'node:stream';
import * as z from 'zod';

import type { UserAccount } from '../../../db/entities/user-account.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { checkFreshLogin } from '../../../domain/auth/clients.ts';
import { checkUserExists, getUser, holdAccount } from '../../../domain/auth/users.ts';
import { invalid } from '../../../domain/errors.ts';
import { continueErasures } from '../../../domain/privacy/continue-erasures.ts';
import { planTexts } from '../../../domain/privacy/erase-texts.ts';
import {
  beginErasure,
  checkErasable,
  formerNames,
  planErasure,
  readErasure,
} from '../../../domain/privacy/erase.ts';
import {
  historiesOf,
  removeHistories,
  retentionOf,
  retryHistories,
} from '../../../domain/privacy/histories.ts';
import { personalData, type PersonalRecord } from '../../../domain/privacy/export.ts';
import { lockTeamsOf } from '../../../domain/teams/hand-over.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, media, type Endpoint, type EndpointResponse } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { idParams } from '../../schemas.ts';
import { erasureRecord, erasureRequest, presentErasure } from './erasure-record.ts';

const NDJSON = 'application/x-ndjson';
/** How long the answer waits for the work; the rest follows within seconds. */
const ANSWER_MS = 3_000;
const HISTORIES_MS = 1_000;
/** How long a dry run searches texts. */
const SEARCH_MS = 4_000;

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
    erasureEndpoint(deps),
    retryEndpoint(deps),
    eraseEndpoint(deps),
  ];
}

function erasureEndpoint({ temporal }: AppDeps): Endpoint {
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
      return { status: 200, body: presentErasure(await readErasure(c.em, id, await retentionOf(temporal))) };
    },
  });
}

function retryEndpoint({ orm, temporal }: AppDeps): Endpoint {
  const fork = () => orm.em.fork();
  return endpoint({
    method: 'POST',
    path: '/users/{id}/erasure/retry',
    operationId: 'retryErasure',
    summary: 'Try again to remove the histories that Temporal has refused to remove',
    description:
      'For an erasure that is `incomplete`, once Temporal allows it. 409 `nothing_refused` for others.',
    tags: ['users'],
    role: 'admin',
    params: idParams,
    idempotent: false,
    responses: { 200: erasureRecord, 202: erasureRecord },
    errors: [409],
    handler: async (c) => {
      const { id } = await getUser(c.em, c.params.id);
      await retryHistories(c.em, id);
      c.afterCommit(async () => {
        await removeHistories(fork, temporal, HISTORIES_MS).catch(() => {});
        return answerOf(fork(), id, await retentionOf(temporal));
      });
      return answerOf(c.em, id, null);
    },
  });
}

/**
 * Locks the user, and holds the account of who erases them, of which the erasure has a reference. By the
 * order of their ids: two who erase each other would wait for each other.
 */
async function lockUser(em: EntityManager, id: string, by: string | null): Promise<UserAccount> {
  if (by === null) return getUser(em, id, true);
  const isFirst = by < id.toLowerCase();
  if (isFirst) await holdAccount(em, by);
  const user = await getUser(em, id, true);
  if (!isFirst) await holdAccount(em, by);
  return user;
}

function eraseEndpoint({ orm, files, temporal }: AppDeps): Endpoint {
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
      await checkUserExists(c.em, c.params.id);
      checkFreshLogin(claimsOf(c.ctx));
      c.checkSyntax();
      const given = c.readBody();
      const isDry = 'value' in given && given.value.dry_run;
      if (!isDry) await lockTeamsOf(c.em, c.params.id);
      const user = await lockUser(c.em, c.params.id, isDry ? null : c.actor.id);
      if (!isDry) await checkErasable(c.em, c.actor, user);
      const { runs, free_text: freeText, confirm } = c.body;
      if (isDry) {
        c.audit.note({ data: { dry_run: true } });
        const plan = await planErasure(c.em, c.actor, user, { runs, freeText });
        const person = { userId: user.id, former: formerNames(user), choice: freeText };
        // Without the lock on the account, and with a connection of its own for each batch.
        c.afterCommit(async () => {
          const texts = await planTexts(fork, person, SEARCH_MS);
          const histories = await historiesOf(fork(), user.id, await retentionOf(temporal));
          return { status: 200, body: presentErasure({ ...plan, texts, histories }) };
        });
        return { status: 200, body: presentErasure(plan) };
      }
      checkConfirmed(user, confirm);
      await beginErasure(c.em, c.actor, user, { runs, freeText });
      await c.audit.write(c.em, { data: { runs, free_text: freeText } });
      c.afterCommit(async () => {
        await workAtOnce({ fork, files, temporal });
        return answerOf(fork(), user.id, await retentionOf(temporal));
      });
      return answerOf(c.em, user.id, null);
    },
  });
}

/** It is begun in any case, and the next round tries again and logs what fails, perhaps of another. */
async function workAtOnce({
  fork,
  files,
  temporal,
}: Pick<AppDeps, 'files' | 'temporal'> & { fork: () => EntityManager }): Promise<void> {
  await continueErasures({ fork, files }, ANSWER_MS).catch(() => true);
  await removeHistories(fork, temporal, HISTORIES_MS).catch(() => {});
}

/** @throws 422 */
function checkConfirmed({ username }: UserAccount, confirm: string | undefined): void {
  if (confirm === username) return;
  const message = 'must be the username, because this cannot be undone';
  throw invalid([{ pointer: '/confirm', code: 'not_confirmed', message }]);
}

async function answerOf(
  em: EntityManager,
  userId: string,
  retentionMs: number | null,
): Promise<EndpointResponse> {
  const report = await readErasure(em, userId, retentionMs);
  return { status: report.status === 'done' ? 200 : 202, body: presentErasure(report) };
}

async function* lines(records: AsyncIterable<PersonalRecord>): AsyncGenerator<string> {
  for await (const one of records) yield `${JSON.stringify(one)}\n`;
}
