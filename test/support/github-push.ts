import { createHmac } from 'node:crypto';

import type { Reply, TestApp } from './app.ts';

/** Calls an inbound webhook as GitHub does after a push, signed with the key. */
export function sendPush({ anonymous }: TestApp, hookId: string, key: string): Promise<Reply> {
  const body = '{"zen": "quiet"}';
  return anonymous.post(`/hooks/${hookId}`, body, {
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': `${hookId}-${key}`,
      'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
    },
  });
}
