/** Second factors of the current user, step-up, and log-in by a passkey alone. */
import * as z from 'zod';

import { checkStepUp } from '../../../domain/auth/clients.ts';
import { checkMayMakeCredential } from '../../../domain/auth/credential-guard.ts';
import { factorRoles } from '../../../domain/auth/factor-roles.ts';
import {
  addPasskey,
  listPasskeys,
  registrationOptions,
  removePasskey,
  signingOptions,
  type Passkey,
} from '../../../domain/auth/passkeys.ts';
import {
  acceptProof,
  factorsOf,
  findChallenge,
  noteFactors,
  noteVerified,
  openChallenge,
  refusePasswordAlone,
  removeFactors,
  renewRecoveryCodes,
  useChallenge,
  waitingOf,
} from '../../../domain/auth/second-factor.ts';
import { addressKey, checkThrottle, recordAttempt } from '../../../domain/auth/throttle.ts';
import { beginTotp, confirmTotp, removeTotp } from '../../../domain/auth/totp.ts';
import { getUser } from '../../../domain/auth/users.ts';
import { verifyPassword } from '../../../domain/auth/password.ts';
import { AppError, conflict, invalid } from '../../../domain/errors.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { idParams, text, timestamp, uuid } from '../../schemas.ts';
import { secretText } from '../auth/requests.ts';
import { passkeyAnswer, proofFields } from '../auth/schemas.ts';

type Deps = Pick<AppDeps, 'env' | 'encryption'>;
const TAGS = ['users'];
const noStore = { 'Cache-Control': 'no-store' };

const passkeyRecord = z
  .object({ id: uuid, name: z.string(), created_at: timestamp, last_used_at: timestamp.nullable() })
  .meta({ id: 'Passkey' });

const factorsRecord = z
  .object({
    totp: z.boolean().meta({ description: 'An authenticator app is set up.' }),
    passkeys: z.array(passkeyRecord),
    recovery_codes_left: z.int(),
    required: z.boolean().meta({ description: 'One of your roles needs a second factor.' }),
    awaited: z.boolean().meta({
      description: "Until you show one (`verifyMe`) or set up the first, this session has a viewer's rights.",
    }),
  })
  .meta({ id: 'SecondFactors' });

const recoveryCodes = z
  .object({
    recovery_codes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Shown only once; null if the former ones are still good.' }),
  })
  .meta({ id: 'RecoveryCodes' });

const newTotp = z
  .object({
    secret: z
      .string()
      .meta({ description: 'In base 32, for typing it. It counts once a code was confirmed.' }),
    uri: z.string().meta({ description: '`otpauth://…`, for a QR code.' }),
  })
  .meta({ id: 'NewTotp' });

const challengeRecord = z
  .object({
    challenge: z.string().meta({ description: 'To be sent with the answer, within 5 minutes.' }),
    options: z
      .record(z.string(), z.unknown())
      .meta({ description: 'For `navigator.credentials`, in the JSON form of WebAuthn.' }),
  })
  .meta({ id: 'PasskeyChallenge' });

export function secondFactorEndpoints(deps: Deps): Endpoint[] {
  return [
    ...overviewEndpoints(deps),
    ...totpEndpoints(deps),
    ...passkeyEndpoints(deps),
    ...stepUpEndpoints(deps),
    logInOptions(deps),
  ];
}

function overviewEndpoints({ env }: Deps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/users/me/second-factor',
      operationId: 'getMySecondFactors',
      summary: 'Get your second factors',
      tags: TAGS,
      role: 'viewer',
      responses: { 200: factorsRecord },
      handler: async (c) => {
        const { totp, recovery_codes_left } = await factorsOf(c.em, c.actor.id);
        const { roles } = await getUser(c.em, c.actor.id);
        const passkeys = (await listPasskeys(c.em, c.actor.id)).map(present);
        const needing = await factorRoles(c.em, env.SECOND_FACTOR_ROLES);
        const required = roles.some((role) => needing.includes(role));
        const awaited = (await waitingOf(c.em, claimsOf(c.ctx).sid)) !== 'no';
        return { status: 200, body: { totp, passkeys, recovery_codes_left, required, awaited } };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/users/me/recovery-codes',
      operationId: 'renewMyRecoveryCodes',
      summary: 'Get ten new recovery codes, each for one log-in; the former ones end',
      tags: TAGS,
      role: 'viewer',
      responses: { 200: recoveryCodes },
      errors: [403, 409],
      idempotent: false,
      handler: async (c) => {
        c.checkSyntax();
        await checkMayChange(c);
        const { totp, passkeys } = await factorsOf(c.em, c.actor.id);
        if (!totp && passkeys === 0) throw conflict('no_second_factor', 'Set up a second factor first.');
        const codes = await renewRecoveryCodes(c.em, c.actor.id);
        return { status: 200, body: { recovery_codes: codes }, headers: noStore };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/{id}/second-factor',
      operationId: 'resetUserSecondFactor',
      summary: "Remove a user's second factors, who has lost them",
      description: 'Make sure by another way who asks for it. Needs a log-in at most 5 minutes old.',
      tags: TAGS,
      role: 'admin',
      scope: 'admin',
      params: idParams,
      responses: { 204: null },
      handler: async (c) => {
        const user = await getUser(c.em, c.params.id, true);
        checkStepUp(claimsOf(c.ctx), c.actor);
        await removeFactors(c.em, user.id, env.SECOND_FACTOR_ROLES);
        return { status: 204 };
      },
    }),
  ];
}

function totpEndpoints({ env, encryption }: Deps): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/users/me/totp',
      operationId: 'beginMyTotp',
      summary: 'Get a secret for an authenticator app (RFC 6238), which counts once it is confirmed',
      tags: TAGS,
      role: 'viewer',
      responses: { 200: newTotp },
      errors: [403, 409],
      idempotent: false,
      handler: async (c) => {
        await checkMayChange(c);
        return { status: 200, body: await beginTotp(c.em, encryption, c.actor), headers: noStore };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/users/me/totp/confirm',
      operationId: 'confirmMyTotp',
      summary:
        'Confirm the authenticator app with a code of it; the first second factor gives recovery codes',
      tags: TAGS,
      role: 'viewer',
      body: z.object({ code: z.string().min(6).max(20) }),
      responses: { 200: recoveryCodes },
      errors: [403, 404],
      idempotent: false,
      handler: async (c) => {
        await checkMayChange(c);
        await confirmTotp(c.em, encryption, c.actor.id, c.body.code);
        return withCodes(env, c);
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/users/me/totp',
      operationId: 'deleteMyTotp',
      summary: 'Remove the authenticator app',
      tags: TAGS,
      role: 'viewer',
      responses: { 204: null },
      errors: [403, 409],
      handler: async (c) => {
        await checkMayChange(c);
        await removeTotp(c.em, c.actor.id);
        await afterRemoval(env, c);
        return { status: 204 };
      },
    }),
  ];
}

function passkeyEndpoints({ env }: Deps): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/users/me/passkeys/options',
      operationId: 'beginMyPasskey',
      summary: 'Get what a browser needs to make a passkey (WebAuthn)',
      tags: TAGS,
      role: 'viewer',
      responses: { 200: challengeRecord },
      errors: [403, 409],
      idempotent: false,
      handler: async (c) => {
        c.checkSyntax();
        await checkMayChange(c);
        const options = await registrationOptions(c.em, env.BASE_URL, c.actor);
        const challenge = await openChallenge(c.em, c.actor.id, 'register', options.challenge);
        return { status: 200, body: { challenge, options: { ...options } }, headers: noStore };
      },
    }),
    registerEndpoint(env),
    endpoint({
      method: 'DELETE',
      path: '/users/me/passkeys/{id}',
      operationId: 'deleteMyPasskey',
      summary: 'Remove a passkey',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 204: null },
      errors: [403],
      handler: async (c) => {
        await checkMayChange(c);
        await removePasskey(c.em, c.actor.id, c.params.id);
        await afterRemoval(env, c);
        return { status: 204 };
      },
    }),
  ];
}

function registerEndpoint(env: Deps['env']): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/users/me/passkeys',
    operationId: 'createMyPasskey',
    summary: 'Register a passkey; the first second factor gives recovery codes',
    tags: TAGS,
    role: 'viewer',
    body: z.object({ name: text({ min: 1, max: 100 }), challenge: secretText, passkey: passkeyAnswer }),
    responses: { 200: recoveryCodes },
    errors: [403, 409],
    idempotent: false,
    handler: async (c) => {
      await checkMayChange(c);
      const { name, challenge: token, passkey } = c.body;
      const found = await findChallenge(c.em, token, ['register']);
      if (found?.user_id !== c.actor.id || found.challenge === null) throw overdue();
      await useChallenge(c.em, found);
      await addPasskey(c.em, env.BASE_URL, c.actor.id, {
        name,
        challenge: found.challenge,
        response: passkey,
      });
      return withCodes(env, c);
    },
  });
}

function stepUpEndpoints(deps: Deps): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/users/me/verify/options',
      operationId: 'beginMyVerification',
      summary: 'Get what a browser needs to sign with a passkey, to show again who you are',
      tags: TAGS,
      role: 'viewer',
      audit: false,
      responses: { 200: challengeRecord },
      errors: [403],
      idempotent: false,
      handler: async (c) => {
        const options = await signingOptions(c.em, deps.env.BASE_URL, c.actor.id);
        const challenge = await openChallenge(c.em, c.actor.id, 'step_up', options.challenge);
        return { status: 200, body: { challenge, options: { ...options } }, headers: noStore };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/users/me/verify',
      operationId: 'verifyMe',
      summary:
        'Show again who you are, by one of these; for 5 minutes the session counts as freshly logged in',
      description:
        'With a second factor, a password alone is refused: 403 `mfa_required` with `methods`. Wrong ' +
        'answers are limited to ten in 15 minutes, then 429. A passkey needs its `challenge`.',
      tags: TAGS,
      role: 'viewer',
      body: z.object({
        password: secretText.optional(),
        challenge: secretText.optional(),
        ...proofFields,
      }),
      responses: { 204: null },
      errors: [403, 429],
      idempotent: false,
      transaction: false,
      handler: (c) => verify(deps, c),
    }),
  ];
}

interface Shown {
  password?: string | undefined;
  challenge?: string | undefined;
  code?: string | undefined;
  recovery_code?: string | undefined;
  passkey?: z.output<typeof passkeyAnswer> | undefined;
}

async function verify(
  { env, encryption }: Deps,
  { em, actor, ctx, body, audit }: EndpointContext<unknown, unknown, Shown>,
): Promise<{ status: number }> {
  const { sid } = claimsOf(ctx);
  const address = addressKey(ctx.ip);
  const { password, challenge: token, ...proof } = body;
  const hasProof = Object.values(proof).some((value) => value !== undefined);
  if (password !== undefined && !hasProof) await refusePasswordAlone(em, actor.id);
  const fits =
    password === undefined ? null : await passwordFits({ em, userId: actor.id, address }, password);
  const isVerified = await em.transactional(async (tx) => {
    const found = token === undefined ? null : await findChallenge(tx, token, ['step_up']);
    const own = found?.user_id === actor.id ? found : null;
    if (own) await useChallenge(tx, own);
    const by = { userId: actor.id, address, challenge: own?.challenge ?? null };
    const isPasswordRight =
      fits === null || (await recordAttempt(tx, passwordAttempts(actor.id, address), fits));
    const needsProof = fits === null || hasProof;
    const isRight =
      isPasswordRight &&
      (!needsProof || (await acceptProof(tx, { encryption, baseUrl: env.BASE_URL }, by, proof)));
    const refused = { outcome: 'refused' as const, data: { code: 'wrong_proof' } };
    await audit.write(tx, { objectType: 'session', objectId: sid, ...(isRight ? {} : refused) });
    if (isRight) await noteVerified(tx, actor.id, sid, needsProof ? 'factor' : 'password');
    return isRight;
  });
  if (!isVerified) throw new AppError('forbidden', 'wrong_proof', 'The password, code or passkey is wrong.');
  return { status: 204 };
}

function passwordAttempts(userId: string, address: string) {
  return { account: `change:${userId}`, address, perAccount: 10 };
}

async function passwordFits(
  { em, userId, address }: { em: EndpointContext['em']; userId: string; address: string },
  password: string,
): Promise<boolean> {
  await checkThrottle(em, passwordAttempts(userId, address));
  return verifyPassword(password, (await getUser(em, userId)).password_hash ?? null);
}

function logInOptions({ env }: Deps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/auth/passkey',
    operationId: 'beginPasskeyLogIn',
    summary: 'Get what a browser needs to log in by a passkey, without a password',
    description: 'Answer at `POST /console/session` or `POST /auth/token` with `challenge` and `passkey`.',
    tags: ['auth'],
    role: 'public',
    audit: false,
    responses: { 200: challengeRecord },
    idempotent: false,
    handler: async (c) => {
      const options = await signingOptions(c.em, env.BASE_URL, null);
      const challenge = await openChallenge(c.em, null, 'passkey', options.challenge);
      return { status: 200, body: { challenge, options: { ...options } }, headers: noStore };
    },
  });
}

async function afterRemoval(
  { SECOND_FACTOR_ROLES: neededBy }: Deps['env'],
  { em, actor }: Pick<EndpointContext, 'em' | 'actor'>,
): Promise<void> {
  await noteFactors(em, { userId: actor.id, sid: null, neededBy });
}

async function withCodes(
  { SECOND_FACTOR_ROLES: neededBy }: Deps['env'],
  { em, actor, ctx }: Pick<EndpointContext, 'em' | 'actor' | 'ctx'>,
) {
  const codes = await noteFactors(em, { userId: actor.id, sid: claimsOf(ctx).sid, neededBy });
  return { status: 200, body: { recovery_codes: codes }, headers: noStore };
}

/** @throws 401, 403 */
async function checkMayChange({ em, ctx }: Pick<EndpointContext, 'em' | 'ctx'>): Promise<void> {
  await checkMayMakeCredential(em, claimsOf(ctx), { mayBeFirst: true });
}

function overdue(): AppError {
  return invalid([
    { pointer: '/challenge', code: 'challenge_over', message: 'is unknown, used or too late' },
  ]);
}

function present({
  created_at: created,
  last_used_at: used,
  ...rest
}: Passkey): z.output<typeof passkeyRecord> {
  return { ...rest, created_at: created.toISOString(), last_used_at: used?.toISOString() ?? null };
}
