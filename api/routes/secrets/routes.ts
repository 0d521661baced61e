import * as z from 'zod';

import { heldBy } from '../../../domain/audit/write.ts';
import { checkStepUp } from '../../../domain/auth/clients.ts';
import type { Role } from '../../../contracts/roles.ts';
import { MAX_SECRET_LENGTH, secretProblem } from '../../../contracts/secret-value.ts';
import { invalid } from '../../../domain/errors.ts';
import { checkSecretLimit } from '../../../domain/limits.ts';
import {
  deleteSecret,
  getSecret,
  listSecrets,
  putSecret,
  SECRET_NAME,
} from '../../../domain/secrets/service.ts';
import { teamFor } from '../../../domain/teams/holding.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { orderBy, readPage } from '../../paging.ts';
import { jsonObject, pageQuery, text, uuid } from '../../schemas.ts';
import { presentSecret, secretRecord } from './presenter.ts';

const TAGS = ['secrets'];
const byName = orderBy<{ name: string }, string>(z.string().regex(SECRET_NAME), ({ name }) => name);
const params = z.object({ name: z.string() });

/**
 * Objects such as `{username, password}` serve the language's authentication policies, which need several
 * fields. They are stored as JSON text.
 */
const secretValue = z
  .union([text({ min: 1, max: MAX_SECRET_LENGTH }), jsonObject])
  .check((context) => {
    const message = secretProblem(context.value);
    if (message !== null) context.issues.push({ code: 'custom', input: context.value, message });
  })
  .meta({ description: 'Text, or an object such as {username, password}. It is never returned.' });

const ofTeam = {
  team_id: uuid
    .optional()
    .meta({ description: "A team whose secrets are meant, instead of the caller's own." }),
};

/** Whose secrets a request is about. The query is checked if it says so, else once the secret is found. */
async function holderFor(
  c: EndpointContext<unknown, { team_id?: string | undefined }>,
  role: Role,
): Promise<string> {
  const team = c.ctx.query['team_id'] === undefined ? undefined : c.query.team_id;
  return (await teamFor(c.em, c.actor, team, role)) ?? c.actor.id;
}

export function secretEndpoints({ encryption, env }: Pick<AppDeps, 'encryption' | 'env'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/secrets',
      operationId: 'listSecrets',
      summary: "List the names of the caller's secrets, sorted by name",
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, ...ofTeam }),
      responses: { 200: z.array(secretRecord) },
      errors: [422],
      handler: async (c) => {
        const { items, headers } = await readPage(c, byName, async (page) =>
          listSecrets(c.em, await holderFor(c, 'viewer'), page),
        );
        return { status: 200, body: items.map(presentSecret), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/secrets/{name}',
      operationId: 'getSecret',
      summary: 'Get when a secret was created and updated; its value is never returned',
      tags: TAGS,
      role: 'viewer',
      params,
      query: z.object(ofTeam),
      responses: { 200: secretRecord },
      errors: [422],
      handler: async (c) => ({
        status: 200,
        body: presentSecret(await getSecret(c.em, await holderFor(c, 'viewer'), c.params.name)),
      }),
    }),
    endpoint({
      method: 'PUT',
      path: '/secrets/{name}',
      operationId: 'putSecret',
      summary: "Store a secret, encrypted; own agents' configuration refers to it as `<NAME>`",
      description: 'A session needs a log-in at most 5 minutes old (401 `login_too_old`).',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params,
      query: z.object(ofTeam),
      body: z.object({ value: secretValue }),
      record: secretRecord,
      responses: { 200: secretRecord, 201: secretRecord },
      errors: [409],
      handler: async (c) => {
        checkStepUp(claimsOf(c.ctx), c.actor);
        const { name } = c.params;
        const holder = await holderFor(c, 'builder');
        const { value } = c.body;
        if (!SECRET_NAME.test(name)) {
          throw invalid([
            {
              pointer: '/name',
              code: 'invalid_name',
              message:
                'must have at most 255 letters, digits, "_", "-" and ".", and start with a letter or "_"',
            },
          ]);
        }
        const stored = await putSecret(c.em, encryption, holder, {
          name,
          value: typeof value === 'string' ? value : JSON.stringify(value),
        });
        if (stored.created) await checkSecretLimit(c.em, env, holder);
        c.audit.note(heldBy(c.query.team_id));
        return {
          status: stored.created ? 201 : 200,
          body: presentSecret(stored.secret),
          ...(stored.created ? { headers: { Location: `${c.baseUrl}/secrets/${name}` } } : {}),
        };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/secrets/{name}',
      operationId: 'deleteSecret',
      summary: 'Delete a secret; invocations of agents that refer to it will fail',
      description: 'A session needs a log-in at most 5 minutes old (401 `login_too_old`).',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params,
      query: z.object(ofTeam),
      responses: { 204: null },
      errors: [422],
      handler: async (c) => {
        checkStepUp(claimsOf(c.ctx), c.actor);
        const holder = await holderFor(c, 'builder');
        await deleteSecret(c.em, holder, c.params.name);
        c.audit.note(heldBy(c.query.team_id));
        return { status: 204 };
      },
    }),
  ];
}
