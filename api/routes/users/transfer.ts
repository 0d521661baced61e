/** What a user hands over to another (docs/teams.md#moving). */
import * as z from 'zod';

import { checkStepUp } from '../../../domain/auth/clients.ts';
import { getUser } from '../../../domain/auth/users.ts';
import { beginTransfer } from '../../../domain/transfers/begin.ts';
import { continueTransfers } from '../../../domain/transfers/continue.ts';
import { readTransferReport } from '../../../domain/transfers/report.ts';
import type { EntityManager } from '../../../db/orm.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointResponse } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { idParams, uuid } from '../../schemas.ts';

/** How long an answer waits for the end. */
const ANSWER_MS = 3_000;

const transferRecord = z
  .object({
    status: z.enum(['running', 'done']).meta({ description: 'While it is `running`, the numbers grow.' }),
    to: uuid,
    agents: z.int(),
    workflows: z.int(),
    runs: z.int(),
    files: z.int(),
    webhooks: z.int(),
    items: z.int(),
    human_tasks: z.int(),
    conversations: z.int(),
    chats: z.int(),
    secrets: z.int(),
    secrets_renamed: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Transfer' });

export function transferEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/{id}/transfer',
      operationId: 'getTransfer',
      summary: "Get how far the last transfer of a user's property has come",
      tags: ['users'],
      role: 'admin',
      params: idParams,
      responses: { 200: transferRecord },
      handler: async (c) => {
        const { id } = await getUser(c.em, c.params.id);
        void c.query;
        return { status: 200, body: await readTransferReport(c.em, id) };
      },
    }),
    transferEndpoint(deps),
  ];
}

function transferEndpoint({ orm, encryption, env }: AppDeps): Endpoint {
  const fork = () => orm.em.fork();
  return endpoint({
    method: 'POST',
    path: '/users/{id}/transfer',
    operationId: 'transferUser',
    summary: "Transfer a user's property to another user",
    description:
      'Agents, workflows, runs, files, webhooks and marketplace items get the new owner, and undecided ' +
      'human tasks the new assignee. Tasks of A2A, conversations with agents, sets of `apply` and chats ' +
      'of workflows go along. Secrets are copied; if the new owner has a different secret of the same ' +
      'name, the copy gets a new name, and agents and workflows are updated to use it. 409 ' +
      '`limit_reached` if the new owner would have more than a quota allows. Workflows, live runs, ' +
      'webhooks and secrets change at once; agents, ended runs and files may follow: 202, and `GET` says ' +
      'how far it came. The same request again changes nothing; another one of these users is 409 ' +
      '`transfer_running` until the end. A session needs a log-in at most 5 minutes old (401 ' +
      '`login_too_old`).',
    tags: ['users'],
    role: 'admin',
    params: idParams,
    body: z.object({ to: uuid }),
    errors: [409],
    responses: { 200: transferRecord, 202: transferRecord },
    handler: async (c) => {
      const { id: from } = await getUser(c.em, c.params.id);
      checkStepUp(claimsOf(c.ctx), c.actor);
      await beginTransfer(c.em, { encryption, limits: env }, c.actor, { from, to: c.body.to });
      const answer = await answerOf(c.em, from);
      if (answer.status === 202)
        c.afterCommit(async () => {
          // It is begun in any case, and the next round tries again and logs what fails, perhaps of another.
          await continueTransfers(fork, ANSWER_MS).catch(() => true);
          return answerOf(fork(), from);
        });
      return answer;
    },
  });
}

async function answerOf(em: EntityManager, from: string): Promise<EndpointResponse> {
  const report = await readTransferReport(em, from);
  return { status: report.status === 'done' ? 200 : 202, body: report };
}
