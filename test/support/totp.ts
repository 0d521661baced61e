/** Codes of an authenticator app. domain/auth/totp.ts takes those of now, of one period before and after. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Secret, TOTP } from 'otpauth';

const PERIOD_MS = 30_000;
/** Enough for a request on a busy machine. */
const NEEDED_MS = 10_000;

/** The code of so many periods from now. Those of now and the next stay good if a period ends meanwhile. */
export function totpCode(secret: string, periods = 0): string {
  const timestamp = Date.now() + periods * PERIOD_MS;
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
}

/**
 * The code of the period before, which leaves those of now and of the next for later. It is refused once
 * this period ends, so near its end this waits for the next.
 */
export async function earlyTotpCode(secret: string): Promise<string> {
  const left = PERIOD_MS - (Date.now() % PERIOD_MS);
  if (left < NEEDED_MS) await sleep(left);
  return totpCode(secret, -1);
}
