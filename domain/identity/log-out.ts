/** The end of sessions that an issuer has opened. */
import type { EntityManager } from '../../db/orm.ts';
import { hashToken } from '../auth/sessions.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { getIssuer, type Issuer } from './issuers.ts';
import { idTokenContext } from './log-in.ts';

/** The issuer of a browser's session and the ID token that opened it; null for a session by password. */
export async function issuerOfSession(
  em: EntityManager,
  encryption: Encryption,
  secret: string,
): Promise<{ issuer: Issuer; idToken: string | null } | null> {
  const [row] = await em.execute<{ id: string; issuer_id: string; sealed: string | null }[]>(
    `select s.id, i.issuer_id, s.id_token_encrypted as sealed
       from auth_session s join user_identity i on i.id = s.identity_id
      where s.cookie_hash = ? and s.revoked_at is null`,
    [hashToken(secret)],
  );
  if (!row) return null;
  const idToken = row.sealed === null ? null : encryption.decrypt(row.sealed, idTokenContext(row.id));
  return { issuer: await getIssuer(em, row.issuer_id), idToken };
}

/**
 * Back-channel log-out: the issuer ends one session of its own, or all sessions of a subject. Without the
 * issuer's `sid`, every session that the identity opened ends.
 */
export async function endSessionsByIssuer(
  em: EntityManager,
  issuer: Issuer,
  { subject, session }: { subject: string | null; session: string | null },
): Promise<void> {
  await em.execute(
    `update auth_session s set revoked_at = now() from user_identity i
      where s.identity_id = i.id and i.issuer_id = ? and s.revoked_at is null
        and (?::text is null or i.subject = ?) and (?::text is null or s.issuer_sid = ?)`,
    [issuer.id, subject, subject, session, session],
  );
}
