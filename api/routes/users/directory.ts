import * as z from 'zod';

import { avatarOf } from '../../../contracts/avatar.ts';
import { listPeople } from '../../../domain/auth/directory.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { orderBy, readPage } from '../../paging.ts';
import { pageQuery, text, uuid } from '../../schemas.ts';

/** As many as fit a page. */
const MAX_IDS = 200;

const personRecord = z
  .object({
    id: uuid,
    username: z.string(),
    display_name: z.string().nullable(),
    avatar: z
      .object({ initials: z.string(), hue: z.int().min(0).max(359) })
      .meta({ description: 'A picture that is drawn from the name.' }),
    email: z.string().optional().meta({ description: 'Only with DIRECTORY_EMAIL.' }),
  })
  .meta({ id: 'Person' });

const byUsername = orderBy<{ username: string }, string>(z.string().max(255), ({ username }) => username);

/** The names of other users, for everybody. */
export function directoryEndpoints({ env }: Pick<AppDeps, 'env'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/directory',
      operationId: 'listPeople',
      summary: 'List people by username',
      description:
        'Active users, with nothing but their names (and mail addresses with DIRECTORY_EMAIL). ' +
        'With `ids` and without `q` and `username` also disabled users, ' +
        'because records keep naming them.',
      tags: ['users'],
      role: 'viewer',
      query: z.object({
        ...pageQuery,
        q: text({ min: 1, max: 255 })
          .optional()
          .meta({ description: 'Text in the username or display name; case is ignored.' }),
        username: text({ min: 1, max: 255 })
          .optional()
          .meta({ description: 'The whole username; case is ignored.' }),
        ids: z
          .string()
          .transform((value) => value.split(','))
          .pipe(z.array(uuid).max(MAX_IDS))
          .optional()
          .meta({ description: `Ids of users, separated by commas, at most ${MAX_IDS}.`, type: 'string' }),
      }),
      responses: { 200: z.array(personRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byUsername, (page, filter) =>
          listPeople(c.em, filter, page, { withEmail: env.DIRECTORY_EMAIL }),
        );
        return { status: 200, body: items.map((one) => ({ ...one, avatar: avatarOf(one) })), headers };
      },
    }),
  ];
}
