/** The device flow (RFC 8628): a program without a browser logs in by a code that its user approves. */
import * as z from 'zod';

import {
  decideDeviceRequest,
  DEVICE_CODE_SECONDS,
  findDeviceRequest,
  POLL_SECONDS,
  requestDevice,
  type Asking,
} from '../../../domain/auth/device-flow.ts';
import { checkPerson } from '../../../domain/auth/own-sessions.ts';
import { addressKey } from '../../../domain/auth/throttle.ts';
import type { AppDeps } from '../../deps.ts';
import { describeDevice } from '../../describe-device.ts';
import { endpoint, media, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { timestamp } from '../../schemas.ts';
import { MAX_AUTH_BODY_BYTES, FORM, openedFrom } from './requests.ts';
import { deviceRequestForm, oauthError } from './schemas.ts';
import { checkFirstParty } from './token.ts';

const userCode = z.string().min(1).max(40).meta({
  description: 'As the program shows it; case, spaces and hyphens do not count.',
  example: 'WDJB-MJHT',
});

const deviceCodes = z
  .object({
    device_code: z.string(),
    user_code: z.string(),
    verification_uri: z.string(),
    verification_uri_complete: z.string(),
    expires_in: z.int().meta({ description: 'Lifetime in seconds.' }),
    interval: z.int().meta({ description: 'Seconds between two token requests.' }),
  })
  .meta({ id: 'DeviceCodes' });

const deviceRequest = z
  .object({
    device: z.string().nullable().meta({ description: 'The program that asks, as it names itself.' }),
    address: z.string().meta({ description: 'The address that asks.' }),
    created_at: timestamp,
    expires_at: timestamp,
  })
  .meta({ id: 'DeviceRequest' });

export function deviceEndpoints({ env, encryption }: Pick<AppDeps, 'env' | 'encryption'>): Endpoint[] {
  const mac = (text: string) => encryption.fingerprint(text);
  const page = `${env.BASE_URL}/console/device`;
  return [
    endpoint({
      method: 'POST',
      path: '/auth/device',
      operationId: 'createDeviceCode',
      // It changes nothing for anybody until a user decides it.
      audit: false,
      summary: 'Ask for a code that a user approves in a browser (RFC 8628)',
      description:
        'Show `user_code` and `verification_uri`, then poll `POST /auth/token` with `device_code`. ' +
        'No client has to be registered; `client_id` is `cadenza` or absent.',
      tags: ['auth'],
      role: 'public',
      bodies: { [FORM]: deviceRequestForm },
      bodyLimitBytes: MAX_AUTH_BODY_BYTES,
      responses: { 200: deviceCodes, 400: media({ 'application/json': oauthError }) },
      idempotent: false,
      handler: async (c) => {
        checkFirstParty(c.body.client_id || null);
        const from = { ...openedFrom(c.ctx), network: addressKey(c.ctx.ip) };
        const { deviceCode, userCode: code } = await requestDevice(c.em, mac, from);
        return {
          status: 200,
          body: {
            device_code: deviceCode,
            user_code: code,
            verification_uri: page,
            verification_uri_complete: `${page}?code=${code}`,
            expires_in: DEVICE_CODE_SECONDS,
            interval: POLL_SECONDS,
          },
          headers: { 'Cache-Control': 'no-store' },
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/auth/device',
      operationId: 'getDeviceRequest',
      summary: 'Get what asks with a user code, before you approve it',
      description:
        'Ten wrong codes in 15 minutes are followed by 429. ' + 'Machine clients get 403 `person_required`.',
      tags: ['auth'],
      role: 'viewer',
      query: z.object({ user_code: userCode }),
      responses: { 200: deviceRequest },
      errors: [403, 404],
      handler: async (c) => {
        const found = await findDeviceRequest(c.em, mac, askingOf(c), c.query.user_code);
        return {
          status: 200,
          body: {
            device: describeDevice(found.user_agent),
            address: found.address,
            created_at: found.created_at.toISOString(),
            expires_at: found.expires_at.toISOString(),
          },
          headers: { 'Cache-Control': 'no-store' },
        };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/auth/device/decision',
      operationId: 'decideDeviceRequest',
      summary: 'Approve or deny what asks with a user code',
      description:
        'An approved program gets a session of yours. It lasts like any other, and cannot create ' +
        'machine clients, since no password was entered. Limits are those of `GET /auth/device`.',
      tags: ['auth'],
      role: 'viewer',
      body: z.object({ user_code: userCode, decision: z.enum(['approve', 'deny']) }),
      bodyLimitBytes: MAX_AUTH_BODY_BYTES,
      responses: { 204: null },
      errors: [403, 404, 409],
      idempotent: false,
      transaction: false,
      handler: async (c) => {
        const { user_code: code, decision } = c.body;
        const { id } = await findDeviceRequest(c.em, mac, askingOf(c), code);
        await c.em.transactional(async (em) => {
          await c.audit.write(em, { objectId: id, data: { changes: { decision: { new: decision } } } });
          await decideDeviceRequest(em, claimsOf(c.ctx), id, decision);
        });
        return { status: 204 };
      },
    }),
  ];
}

/** @throws 403 for a machine client */
function askingOf({ actor, ctx }: Pick<EndpointContext, 'actor' | 'ctx'>): Asking {
  checkPerson(claimsOf(ctx));
  return { actor, network: addressKey(ctx.ip) };
}
