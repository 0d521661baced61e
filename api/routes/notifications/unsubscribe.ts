/** The page that a mail leads to: GET changes nothing, since programs follow links in mails. */
import * as z from 'zod';

import { OPTIONAL_MAIL_KINDS } from '../../../contracts/account-mails.ts';
import { NOTIFICATION_KINDS } from '../../../contracts/notification-kinds.ts';
import { isUnsubscribeKey, unsubscribe } from '../../../domain/notifications/settings.ts';
import { notFound } from '../../../domain/errors.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { page, pageHeaders } from '../../page.ts';

const TAGS = ['notifications'];
const MAIL_KINDS = [...NOTIFICATION_KINDS, ...OPTIONAL_MAIL_KINDS] as const;
const params = z.object({ token: z.string().regex(/^[\w-]{20,100}$/) });
const query = z.object({
  kinds: z.string().max(200).optional().meta({ description: 'Separated by commas. Default: all.' }),
});
const html = media({ 'text/html': z.string() });

export function unsubscribeEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/notifications/unsubscribe/{token}',
      operationId: 'showUnsubscribe',
      summary: 'Ask whether to turn mails off; changes nothing',
      tags: TAGS,
      role: 'public',
      params,
      query,
      responses: { 200: html },
      errors: [404],
      handler: async (c) => {
        if (!(await isUnsubscribeKey(c.em, c.params.token))) throw notFound('address');
        void c.query;
        const body = page(
          'Fewer mails',
          `<h1>Get no more mails of this kind?</h1>
<p>The console goes on showing your notifications. You can turn the mails on again in its settings.</p>
<form method="post"><button>Turn them off</button></form>`,
        );
        return { status: 200, type: 'text/html', body, headers: pageHeaders() };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/notifications/unsubscribe/{token}',
      operationId: 'unsubscribe',
      summary: 'Turn mails off, with one click of a mail program (RFC 8058)',
      tags: TAGS,
      role: 'public',
      params,
      query,
      bodies: {
        'application/x-www-form-urlencoded': z.looseObject({}).meta({ id: 'UnsubscribeForm' }),
      },
      bodyLimitBytes: 1_024,
      responses: { 200: html },
      errors: [404],
      idempotent: false,
      handler: async (c) => {
        const given = c.query.kinds?.split(',') ?? [];
        const kinds = MAIL_KINDS.filter((kind) => given.some((name) => name === kind));
        const off = kinds.length > 0 ? kinds : MAIL_KINDS;
        const userId = await unsubscribe(c.em, c.params.token, off);
        if (userId === null) throw notFound('address');
        c.audit.note({ actor: { id: userId, name: null }, objectType: 'user', objectId: userId });
        const body = page('Fewer mails', '<h1>Done</h1><p>You get no more mails of this kind.</p>');
        return { status: 200, type: 'text/html', body, headers: pageHeaders() };
      },
    }),
  ];
}
