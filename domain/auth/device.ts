/**
 * Device marks: cookies that recognise devices from which a user has logged in. A mark grants no access.
 * Failed log-ins from a marked device are counted separately, so strangers who guess passwords cannot lock
 * the owner out.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';

/** A keyed hash, the same in every API process. */
type Mac = (text: string) => string;

export function issueDeviceMark(mac: Mac, userId: string): string {
  const nonce = randomBytes(16).toString('base64url');
  return `${nonce}.${macOf(mac, userId, nonce)}`;
}

/** The device's id if the mark was issued to this user, else null. */
export function deviceOf(mac: Mac, userId: string, mark: string | null): string | null {
  const [, nonce = '', sent = ''] = /^([\w-]{22})\.([\w-]{43})$/.exec(mark ?? '') ?? [];
  if (nonce === '') return null;
  return timingSafeEqual(Buffer.from(sent), Buffer.from(macOf(mac, userId, nonce))) ? nonce : null;
}

function macOf(mac: Mac, userId: string, nonce: string): string {
  return mac(`device ${userId} ${nonce}`);
}
