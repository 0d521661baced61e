/** What the programs of the examples share: requests to Cadenza. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const MAX_WAIT_MS = 60_000;

/**
 * @returns calls the API as the user of the token, and throws the answer of a refused request, with its
 * status
 */
export function createApi(cadenza, token) {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(cadenza + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) {
      const { status } = response;
      throw Object.assign(new Error(`${method} ${path}: ${status} ${text}`), { status });
    }
    return text === '' ? null : JSON.parse(text);
  };
}

/** Reads until the value is ready. @returns the value; throws after a minute */
export async function until(read, isReady) {
  const deadline = Date.now() + MAX_WAIT_MS;
  for (;;) {
    const value = await read();
    if (isReady(value)) return value;
    if (Date.now() > deadline) throw new Error(`not reached within a minute: ${JSON.stringify(value)}`);
    await sleep(100);
  }
}

const PASSWORD = 'set CADENZA_PASSWORD to the password of admin';

/**
 * @param password of `admin`; default: that of `npm start` in this folder
 * @returns a token; throws an error whose message says what to do
 */
export async function logIn(cadenza, password) {
  const body = new URLSearchParams({
    grant_type: 'password',
    username: 'admin',
    password: password ?? firstPassword(),
  });
  const response = await fetch(`${cadenza}/auth/token`, { method: 'POST', body }).catch((error) => {
    if (error.cause?.code !== 'ECONNREFUSED') throw error;
    throw new Error(`Nothing answers at ${cadenza}: run npm start`);
  });
  const answer = await response.json().catch(() => ({}));
  // Refused forms have OAuth's own fields, other requests problem documents.
  const reason = answer.error_description ?? answer.detail ?? `status ${response.status}`;
  const advice = answer.error === 'invalid_grant' ? ` If its password is another, ${PASSWORD}.` : '';
  if (!response.ok) throw new Error(`The log-in as admin was refused: ${reason}${advice}`);
  return answer.access_token;
}

function firstPassword() {
  try {
    return readFileSync(new URL('../.cadenza/admin-password', import.meta.url), 'utf8').trim();
  } catch {
    throw new Error(`There is no .cadenza/admin-password here: ${PASSWORD}.`);
  }
}
