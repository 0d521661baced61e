import * as z from 'zod';

import { invalid } from '../../../domain/errors.ts';
import { deleteSecret, getSecret, listSecrets, putSecret, secretName } from '../../../domain/secrets/service.ts';
import type { AppDeps } from '../../app.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { decodeCursor, page } from '../../paging.ts';
import { jsonObject, pageQuery, text } from '../../schemas.ts';
import { presentSecret, secretRecord } from './presenter.ts';

const tags = ['secrets'];
const params = z.object({ name: z.string() });

/** An object is for policies of the definition language that need several fields (`{username, password}`); it is kept as JSON text. */
const secretValue = z.union([text({ min: 1, max: 65_536 }), jsonObject]).meta({ description: 'A text, or an object such as {username, password}. It is never returned.' });

export function secretEndpoints({ encryption }: Pick<AppDeps, 'encryption'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/secrets',
      operationId: 'listSecrets',
      summary: 'The names of the own secrets, in order',
      tags,
      role: 'viewer',
      query: z.object(pageQuery),
      responses: { 200: z.array(secretRecord) },
      handler: async (c) => {
        const { limit, cursor } = c.query;
        const after = decodeCursor(cursor, z.tuple([z.string().regex(secretName)]))?.[0];
        const { items, headers } = page(c, await listSecrets(c.em, c.actor, { after, limit: limit + 1 }), limit, ({ name }) => [name]);
        return { status: 200, body: items.map(presentSecret), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/secrets/{name}',
      operationId: 'getSecret',
      summary: 'That an own secret is there, and since when; never its value',
      tags,
      role: 'viewer',
      params,
      responses: { 200: secretRecord },
      handler: async (c) => ({ status: 200, body: presentSecret(await getSecret(c.em, c.actor, c.params.name)) }),
    }),
    endpoint({
      method: 'PUT',
      path: '/secrets/{name}',
      operationId: 'putSecret',
      summary: 'Store a secret, encrypted; `<NAME>` in the configuration of own agents stands for it',
      tags,
      role: 'builder',
      params,
      body: z.object({ value: secretValue }),
      record: secretRecord,
      responses: { 200: secretRecord, 201: secretRecord },
      handler: async (c) => {
        const { name } = c.params;
        const { value } = c.body;
        if (!secretName.test(name)) {
          throw invalid([{ pointer: '/name', code: 'invalid_name', message: 'must be letters, digits, "_", "-" and ".", with a letter or "_" first, 255 at most' }]);
        }
        const stored = await putSecret(c.em, encryption, c.actor.id, { name, value: typeof value === 'string' ? value : JSON.stringify(value) });
        return { status: stored.created ? 201 : 200, body: presentSecret(stored.secret), ...(stored.created ? { headers: { Location: `${c.baseUrl}/secrets/${name}` } } : {}) };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/secrets/{name}',
      operationId: 'deleteSecret',
      summary: 'Remove a secret; agents that name it fault when they are invoked',
      tags,
      role: 'builder',
      params,
      responses: { 204: null },
      handler: async (c) => {
        await deleteSecret(c.em, c.actor, c.params.name);
        return { status: 204 };
      },
    }),
  ];
}
