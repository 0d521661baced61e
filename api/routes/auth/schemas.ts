import * as z from 'zod';

import { secretText } from './requests.ts';

export const tokenAnswer = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().meta({ description: 'Lifetime in seconds.' }),
    refresh_token: z.string().optional(),
    scope: z.string().meta({ description: 'The roles, separated by spaces.' }),
    id_token: z.string().optional().meta({ description: 'Who the user is (OpenID Connect), with `openid`.' }),
  })
  .meta({ id: 'TokenAnswer' });

/** RFC 6749 section 5.2. */
export const oauthError = z
  .object({ error: z.string(), error_description: z.string() })
  .meta({ id: 'OAuthError' });

/** An answer of `navigator.credentials`, as `toJSON` writes it; the library checks what is in it. */
export const passkeyAnswer = z
  .looseObject({
    id: z.string().min(1).max(2_000),
    rawId: z.string().max(2_000),
    type: z.literal('public-key'),
    response: z.looseObject({ clientDataJSON: z.string().max(8_000) }),
  })
  .meta({ id: 'PasskeyAnswer', description: 'As `PublicKeyCredential.toJSON()` writes it.' });

/** What proves who one is, besides a password: one of them. */
export const proofFields = {
  code: z.string().max(20).optional().meta({ description: 'Of the authenticator app: six digits.' }),
  recovery_code: z.string().max(40).optional(),
  passkey: passkeyAnswer.optional(),
};
export const secondFactorFields = { challenge: secretText, ...proofFields };

/** The answer to a form with a right password, where a second factor is needed. */
export const secondFactorError = z
  .object({
    error: z.literal('mfa_required'),
    error_description: z.string(),
    challenge: z.string(),
    methods: z.array(z.string()),
  })
  .meta({ id: 'SecondFactorNeeded' });

export const jsonTokenRequest = z
  .discriminatedUnion('grant_type', [
    z.strictObject({
      grant_type: z.literal('password').optional(),
      username: secretText.meta({ description: 'The username or email address.' }),
      password: secretText,
    }),
    z.strictObject({ grant_type: z.literal('second_factor'), ...secondFactorFields }),
    z.strictObject({ grant_type: z.literal('refresh_token'), refresh_token: secretText }),
    z.strictObject({
      grant_type: z.literal('client_credentials'),
      client_id: secretText,
      client_secret: secretText,
    }),
  ])
  .meta({ id: 'TokenRequest' });

/** OAuth requires servers to ignore unknown parameters. */
const formValue = z.string().optional();
export const formTokenRequest = z
  .object({
    grant_type: formValue,
    username: formValue,
    password: formValue,
    refresh_token: formValue,
    client_id: formValue,
    client_secret: formValue,
    device_code: formValue,
    code: formValue,
    code_verifier: formValue,
    challenge: formValue,
    recovery_code: formValue,
    redirect_uri: formValue,
    resource: formValue,
  })
  .catchall(formValue)
  .meta({ id: 'TokenForm' });

export const jsonRevocation = z
  .strictObject({ token: secretText, token_type_hint: z.string().optional() })
  .meta({ id: 'Revocation' });
/** The handler rejects a form without a token, with an OAuth error. */
export const formRevocation = z
  .looseObject({
    token: formValue,
    token_type_hint: formValue,
    client_id: formValue,
    client_secret: formValue,
  })
  .meta({ id: 'RevocationForm' });

/** RFC 8628 section 3.1; `scope` has no effect. */
export const deviceRequestForm = z
  .looseObject({ client_id: formValue, scope: formValue })
  .meta({ id: 'DeviceRequestForm' });
