/** Quotas and what is used of them: docs/quotas.md. */
import * as z from 'zod';

import { QUOTA_NAMES, QUOTA_SCOPES, QUOTA_UNITS } from '../../../contracts/quotas.ts';
import { userIdOf } from '../../../domain/auth/actor.ts';
import { quotaSubject, readQuotas } from '../../../domain/quotas/usage.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { flag, personOrMe, uuid } from '../../schemas.ts';

const scope = z.enum(QUOTA_SCOPES);

const quotaState = z
  .object({
    name: z.enum(QUOTA_NAMES),
    scope,
    per: z.enum(QUOTA_UNITS).nullable().meta({
      description:
        'What the limit is for each of; `used` is that of that which uses most. Null: for all together.',
    }),
    limit: z.number().nullable().meta({ description: 'Null: no limit.' }),
    used: z.number(),
    setting: z.string().meta({ description: 'The setting that it comes from.' }),
    own: z.boolean().meta({ description: 'Administrators have replaced the setting.' }),
  })
  .meta({ id: 'QuotaState' });

const quotaStates = z
  .object({
    scope,
    id: uuid.nullable().meta({ description: 'Of the user or team.' }),
    name: z.string().nullable(),
    limits: z.array(quotaState),
  })
  .meta({ id: 'QuotaStates' });

export function quotaEndpoints({ env }: Pick<AppDeps, 'env'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/usage/limits',
      operationId: 'getUsageLimits',
      summary: 'Get the limits of the caller, of a team or, for admins, of a user or the platform',
      description: 'Each with what is used of it. Without a parameter those of the caller.',
      tags: ['spending'],
      role: 'viewer',
      query: z.object({
        user_id: personOrMe.optional(),
        team_id: uuid.optional().meta({ description: 'A team that the caller is a member of.' }),
        platform: flag.optional().meta({ description: 'What all users and teams have together.' }),
      }),
      responses: { 200: quotaStates },
      errors: [403, 404],
      handler: async (c) => {
        const { user_id: user, ...asked } = c.query;
        const subject = await quotaSubject(c.em, c.actor, {
          ...asked,
          ...(user === undefined ? {} : { user_id: userIdOf(c.actor, user).toLowerCase() }),
        });
        return { status: 200, body: { ...subject, limits: await readQuotas(c.em, env, subject) } };
      },
    }),
  ];
}
