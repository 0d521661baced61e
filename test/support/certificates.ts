/** Certificates of an authority of the test, made by openssl. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Certificate {
  /** Paths of PEM files. */
  cert: string;
  key: string;
}

export interface Authority extends Certificate {
  folder: string;
  issue(name: string, days?: number): Certificate;
}

export function createAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-certificates-'));
  const make = (name: string, days: number, more: string[]): Certificate => {
    const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const out = ['-keyout', key, '-out', cert, '-days', String(days), '-subj', `/CN=${name}`];
    const run = spawnSync('openssl', ['req', '-x509', ...curve, ...out, ...more], { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(run.stderr);
    return { cert, key };
  };
  const authority = make('authority', 365, ['-addext', 'basicConstraints=critical,CA:TRUE']);
  return {
    ...authority,
    folder,
    issue: (name, days = 30) =>
      make(
        name,
        days,
        [
          ['-CA', authority.cert, '-CAkey', authority.key],
          ['-addext', 'basicConstraints=CA:FALSE'],
          ['-addext', `subjectAltName=DNS:${name},DNS:localhost,IP:127.0.0.1`],
        ].flat(),
      ),
  };
}

export function pem(path: string): string {
  return readFileSync(path, 'utf8');
}
