/** `POST /auth/token` in its two dialects: JSON with our problems, form with OAuth's own errors. */
import type { Context } from 'koa';
import type * as z from 'zod';

import { clientGrant, passwordGrant, refreshGrant, type GrantDeps, type TokenAnswer } from '../../../domain/auth/grants.ts';
import { AppError } from '../../../domain/errors.ts';
import type { EndpointResponse } from '../../endpoint.ts';
import type { formTokenRequest, jsonTokenRequest } from './schemas.ts';

const noStore = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };

export async function tokenByJson(deps: GrantDeps, body: z.output<typeof jsonTokenRequest>): Promise<EndpointResponse> {
  const answer =
    'username' in body ? await passwordGrant(deps, body.username, body.password)
    : 'refresh_token' in body ? await refreshGrant(deps, body.refresh_token)
    : await clientGrant(deps, body.client_id, body.client_secret);
  if (!answer) {
    const detail = 'refresh_token' in body ? 'The refresh token is not valid, or no longer.' : 'The credentials are not right.';
    throw new AppError('unauthorized', 'invalid_credentials', detail, { headers: { 'WWW-Authenticate': 'Bearer realm="cadenza"', ...noStore } });
  }
  return granted(answer);
}

/** RFC 6749 sections 4.3, 4.4 and 6, with errors by 5.2. */
export async function tokenByForm(deps: GrantDeps, ctx: Context, form: z.output<typeof formTokenRequest>): Promise<EndpointResponse> {
  const repeated = Object.entries(form).find(([, value]) => Array.isArray(value));
  if (repeated) {
    return refused('invalid_request', `${repeated[0]} is there more than once`);
  }
  const field = (name: keyof typeof form) => (typeof form[name] === 'string' && form[name] !== '' ? form[name] : null);
  const [username, password, refreshToken] = [field('username'), field('password'), field('refresh_token')];
  switch (field('grant_type')) {
    case null:
      return refused('invalid_request', 'grant_type is missing');
    case 'password': {
      if (username === null || password === null) {
        return refused('invalid_request', 'username and password are needed');
      }
      const answer = await passwordGrant(deps, username, password);
      return answer ? granted(answer) : refused('invalid_grant', 'The credentials are not right.');
    }
    case 'refresh_token': {
      if (refreshToken === null) {
        return refused('invalid_request', 'refresh_token is missing');
      }
      const answer = await refreshGrant(deps, refreshToken);
      return answer ? granted(answer) : refused('invalid_grant', 'The refresh token is not valid, or no longer.');
    }
    case 'client_credentials':
      return byClient(deps, ctx, field('client_id'), field('client_secret'));
    default:
      return refused('unsupported_grant_type', 'grant_type is one of password, refresh_token, client_credentials');
  }
}

async function byClient(deps: GrantDeps, ctx: Context, formId: string | null, formSecret: string | null): Promise<EndpointResponse> {
  const basic = basicCredentials(ctx);
  if (basic && formSecret !== null) {
    return refused('invalid_request', 'the client authenticates in two ways at once');
  }
  const id = basic?.id ?? formId;
  const secret = basic?.secret ?? formSecret;
  const answer = id !== null && secret !== null ? await clientGrant(deps, id, secret) : null;
  return answer
    ? granted(answer)
    : { ...refused('invalid_client', 'The client or its secret is not right.'), status: 401, headers: { ...noStore, 'WWW-Authenticate': 'Basic realm="cadenza"' } };
}

/** Both halves are form-encoded before base64 (RFC 6749 section 2.3.1). */
function basicCredentials(ctx: Context): { id: string; secret: string } | null {
  const encoded = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(ctx.get('authorization'))?.[1];
  if (encoded === undefined) {
    return null;
  }
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? { id: text, secret: '' } : { id: formDecode(text.slice(0, colon)), secret: formDecode(text.slice(colon + 1)) };
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function granted(answer: TokenAnswer): EndpointResponse {
  return { status: 200, body: answer, headers: noStore };
}

function refused(error: string, description: string): EndpointResponse {
  return { status: 400, body: { error, error_description: description }, headers: noStore };
}
