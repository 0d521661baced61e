/** An OAuth client as a program would be one: it registers, sends the user to the page, redeems the code. */
import { createHash, randomBytes } from 'node:crypto';

import type { Client, Reply, TestApp } from './app.ts';

export const redirectUri = 'https://client.example.com/callback';
const formType = { 'content-type': 'application/x-www-form-urlencoded' };

export function pkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** Registers a public client. @returns its id */
export async function register(app: TestApp, metadata: Record<string, unknown> = {}): Promise<string> {
  const reply = await app.anonymous.post('/auth/register', {
    client_name: 'Example client',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
    ...metadata,
  });
  if (reply.status !== 201) throw new Error(JSON.stringify(reply.body));
  return reply.body.client_id;
}

export function authorizationFields(clientId: string, challenge: string): Record<string, string> {
  return {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state: 'the state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
}

export const authorizePath = (fields: Record<string, string>): string =>
  `/auth/authorize?${new URLSearchParams(fields).toString()}`;

/** The hidden fields of a page's form. */
export function hiddenFields(html: string): Record<string, string> {
  const found = html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  return Object.fromEntries(
    [...found].map(([, name = '', value = '']) => [
      name,
      value
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&'),
    ]),
  );
}

export function postForm(client: Client, path: string, fields: Record<string, string>): Promise<Reply> {
  return client.post(path, new URLSearchParams(fields).toString(), { headers: formType });
}

/** Opens the page in a browser, and answers its form. */
export async function answer(
  page: Client,
  fields: Record<string, string>,
  action = 'approve',
): Promise<Reply> {
  const shown = await page.get(authorizePath(fields));
  if (shown.status !== 200) throw new Error(JSON.stringify(shown.body));
  return postForm(page, '/auth/authorize', { ...hiddenFields(shown.body), action });
}

/** The parameters with which the user comes back to the client. */
export function comesBack(reply: Reply): Record<string, string> {
  return Object.fromEntries(new URL(reply.headers.get('location') ?? '').searchParams);
}

export interface Flow {
  clientId: string;
  verifier: string;
  code: string;
}

/** The whole way to an authorization code. */
export async function authorize(
  app: TestApp,
  page: Client,
  more: Record<string, string> = {},
): Promise<Flow> {
  const clientId = more['client_id'] ?? (await register(app));
  const { verifier, challenge } = pkce();
  const reply = await answer(page, { ...authorizationFields(clientId, challenge), ...more });
  return { clientId, verifier, code: comesBack(reply)['code'] ?? '' };
}

export function redeem(app: TestApp, flow: Flow, more: Record<string, string> = {}): Promise<Reply> {
  return postForm(app.anonymous, '/auth/token', {
    grant_type: 'authorization_code',
    code: flow.code,
    client_id: flow.clientId,
    redirect_uri: redirectUri,
    code_verifier: flow.verifier,
    ...more,
  });
}
