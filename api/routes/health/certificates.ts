/** What readiness says of the certificates with which this process connects to Temporal. */
import type { WatchedCertificate } from '../../../config/temporal-connection.ts';

/** Enough to renew a certificate in working hours, and longer than those of cert-manager live on. */
const SOON_MS = 14 * 86_400_000;
/** Reading the files again is cheap, but not for each probe. */
const KNOWN_MS = 60_000;

/** `replaced`: the file has another one, which counts from the next start. */
export const CERTIFICATE_STATES = ['ok', 'expiring', 'replaced', 'expired'] as const;
type CertificateState = (typeof CERTIFICATE_STATES)[number];

export interface CertificateReport {
  /** The worst of all. */
  state: CertificateState;
  problems: string[];
}

/** Null without certificates. */
export function certificateCheck(
  certificates: readonly WatchedCertificate[],
  now: () => number = Date.now,
): () => CertificateReport | null {
  let known: { ms: number; report: CertificateReport } | null = null;
  return () => {
    if (certificates.length === 0) return null;
    if (known === null || now() - known.ms > KNOWN_MS)
      known = { ms: now(), report: reportOf(certificates, now()) };
    return known.report;
  };
}

function reportOf(certificates: readonly WatchedCertificate[], now: number): CertificateReport {
  const found = certificates.map((certificate) => ({ certificate, state: stateOf(certificate, now) }));
  const worst = Math.max(...found.map(({ state }) => CERTIFICATE_STATES.indexOf(state)));
  return {
    state: CERTIFICATE_STATES[worst] ?? 'ok',
    problems: found.flatMap(({ certificate, state }) => textOf(certificate, state)),
  };
}

function stateOf(certificate: WatchedCertificate, now: number): CertificateState {
  const leftMs = certificate.expiresAt.getTime() - now;
  if (leftMs <= 0) return 'expired';
  if (leftMs > SOON_MS) return 'ok';
  return certificate.isReplaced() ? 'replaced' : 'expiring';
}

function textOf({ setting, expiresAt }: WatchedCertificate, state: CertificateState): string[] {
  const day = expiresAt.toISOString().slice(0, 10);
  if (state === 'ok') return [];
  if (state === 'replaced')
    return [
      `The file of ${setting} was replaced: restart api and worker before ${day}, when the former expires.`,
    ];
  const verb = state === 'expired' ? 'expired' : 'expires';
  return [`The certificate of ${setting} ${verb} on ${day}: replace it, and restart api and worker.`];
}
