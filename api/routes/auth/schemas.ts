import * as z from 'zod';

export const tokenAnswer = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int().meta({ description: 'Seconds.' }),
  refresh_token: z.string().optional(),
  scope: z.string().meta({ description: 'The roles, separated by spaces.' }),
}).meta({ id: 'TokenAnswer' });

/** RFC 6749 section 5.2. */
export const oauthError = z.object({ error: z.string(), error_description: z.string() }).meta({ id: 'OAuthError' });

const secretText = z.string().min(1).max(4096);

export const jsonTokenRequest = z.discriminatedUnion('grant_type', [
  z.strictObject({
    grant_type: z.literal('password').optional(),
    username: secretText.meta({ description: 'The username or the e-mail address.' }),
    password: secretText,
  }),
  z.strictObject({ grant_type: z.literal('refresh_token'), refresh_token: secretText }),
  z.strictObject({ grant_type: z.literal('client_credentials'), client_id: secretText, client_secret: secretText }),
]).meta({ id: 'TokenRequest' });

/** A parameter that is sent twice comes as a list. Unknown ones are ignored, as OAuth wants it. */
const formValue = z.union([z.string(), z.array(z.string())]).optional();
export const formTokenRequest = z.looseObject({
  grant_type: formValue, username: formValue, password: formValue, refresh_token: formValue, client_id: formValue, client_secret: formValue,
}).meta({ id: 'TokenForm' });

const revocation = { token: secretText, token_type_hint: z.string().optional() };
export const jsonRevocation = z.strictObject(revocation).meta({ id: 'Revocation' });
export const formRevocation = z.looseObject(revocation).meta({ id: 'RevocationForm' });
