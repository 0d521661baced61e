/** What users have chosen for themselves, such as saved views of the console. */
import {
  getPreferences,
  lockPreferences,
  storePreferences,
  type Preferences,
} from '../../../domain/auth/preferences.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, type Endpoint, type EndpointResponse } from '../../endpoint.ts';
import { jsonObject } from '../../schemas.ts';

const MAX_BYTES = 64 * 1024;

const preferencesRecord = jsonObject.meta({
  id: 'Preferences',
  description: 'Any JSON object. The console keeps its choices under `console`.',
});

export function preferencesEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/me/preferences',
      operationId: 'getMyPreferences',
      summary: 'Get your preferences',
      description: 'Nobody else can read them. They are `{}` until they are first stored.',
      tags: ['users'],
      role: 'viewer',
      responses: { 200: preferencesRecord },
      handler: async (c) => answerWith(c.actor.id, await getPreferences(c.em, c.actor.id)),
    }),
    endpoint({
      method: 'PUT',
      path: '/users/me/preferences',
      operationId: 'putMyPreferences',
      summary: 'Replace your preferences, at most 64 KiB',
      tags: ['users'],
      role: 'viewer',
      clientRole: 'builder',
      body: preferencesRecord,
      bodyLimitBytes: MAX_BYTES,
      responses: { 200: preferencesRecord },
      errors: [412],
      handler: async (c) => {
        const { id } = c.actor;
        const current = await lockPreferences(c.em, id);
        c.checkSyntax();
        checkIfMatch(c.ctx, tagOf(id, current));
        return answerWith(id, await storePreferences(c.em, id, current, c.body));
      },
    }),
  ];
}

function answerWith(userId: string, preferences: Preferences): EndpointResponse {
  return { status: 200, body: preferences.content, headers: { ETag: tagOf(userId, preferences) } };
}

function tagOf(userId: string, { version }: Preferences): string {
  return etag(userId, version);
}
