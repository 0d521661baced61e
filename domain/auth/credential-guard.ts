import type { EntityManager } from '../../db/orm.ts';
import type { Claims } from './access-token.ts';
import { checkFreshLogin } from './clients.ts';
import { refuseWaiting } from './second-factor.ts';

/**
 * Before something is made that outlives the session: an access token, a machine client, an identity, a
 * second factor. `mayBeFirst`: a session that waits for its first second factor may set that one up.
 * @throws 401 if the log-in is older than 5 minutes, 403 for clients and for sessions that wait for a factor
 */
export async function checkMayMakeCredential(
  em: EntityManager,
  claims: Pick<Claims, 'client_id' | 'auth_time' | 'sid'>,
  options: { mayBeFirst?: boolean } = {},
): Promise<void> {
  checkFreshLogin(claims);
  await refuseWaiting(em, claims.sid, options);
}
