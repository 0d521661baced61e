/**
 * Standard Webhooks: secrets `whsec_<base64>`, signatures `v1,<base64 of HMAC-SHA-256>` over id, time and
 * body, one for each secret, separated by spaces.
 */
import { createHmac, randomBytes } from 'node:crypto';

import { bytesOfBase64 } from '../base64.ts';

const PREFIX = 'whsec_';

export function newSecret(): string {
  return PREFIX + randomBytes(32).toString('base64');
}

/** 24 to 64 bytes in base64, as the standard requires. */
export function isSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false;
  const bytes = bytesOfBase64(text.slice(PREFIX.length));
  return bytes !== null && bytes.length >= 24 && bytes.length <= 64;
}

/** The headers of one attempt; `at` is signed too, which prevents replays of old messages. */
export function signedHeaders(
  secrets: readonly string[],
  message: { id: string; body: string; at: Date },
): Record<string, string> {
  const timestamp = String(Math.floor(message.at.getTime() / 1000));
  const content = `${message.id}.${timestamp}.${message.body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  });
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
