import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { ExpiringClaims } from '../../../domain/auth/access-token.ts';
import { VerifiedTokens } from '../../../domain/auth/verified-tokens.ts';

const now = Date.parse('2026-11-23T07:00:00Z');
const claims = (): ExpiringClaims => ({
  sub: 'u',
  sid: 's',
  client_id: 'cadenza',
  epoch: 1,
  exp: now / 1_000 + 60,
});

beforeEach(() => void jest.useFakeTimers({ now }));
afterEach(() => void jest.useRealTimers());

test('a token is known until it expires, for its audience, with the claims that were signed', () => {
  const tokens = new VerifiedTokens();
  const own = claims();
  tokens.keep('cadenza', 'a', { claims: own, kid: 'k' });
  own.epoch = 2;
  const found = tokens.find('cadenza', 'a');
  expect(found).toEqual({ kid: 'k', claims: claims() });
  if (found) found.claims.auth_time = 1;
  expect(tokens.find('cadenza', 'a')).toEqual({ kid: 'k', claims: claims() });
  expect([tokens.find('cadenza', 'b'), tokens.find('another', 'a')]).toEqual([null, null]);
  jest.advanceTimersByTime(60_000);
  expect(tokens.find('cadenza', 'a')).toBeNull();
});

test('only so many are kept', () => {
  const tokens = new VerifiedTokens();
  for (let n = 0; n < 10_001; n++) tokens.keep('cadenza', `token ${n}`, { claims: claims(), kid: 'k' });
  expect(tokens.find('cadenza', 'token 0')).toBeNull();
  expect(tokens.find('cadenza', 'token 10000')).not.toBeNull();
});
