/**
 * How this process shows Temporal who it is: certificates (PEM texts or files), and an API key. Problems name
 * the setting and never repeat its value, which may be a secret.
 */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

interface SettingProblem {
  name: string;
  message: string;
}

export interface TemporalConnectionEnv {
  TEMPORAL_ADDRESS: string;
  TEMPORAL_API_KEY?: string | undefined;
  TEMPORAL_API_KEY_FILE?: string | undefined;
  TEMPORAL_TLS?: boolean | undefined;
  TEMPORAL_TLS_CA?: string | undefined;
  TEMPORAL_TLS_CERT?: string | undefined;
  TEMPORAL_TLS_KEY?: string | undefined;
  TEMPORAL_TLS_SERVER_NAME?: string | undefined;
}

interface TemporalTls {
  serverNameOverride?: string;
  serverRootCACertificate?: Buffer;
  clientCertPair?: { crt: Buffer; key: Buffer };
}

export interface TemporalCredentials {
  tls: TemporalTls | boolean | undefined;
  /** A function reads its file anew, so that the key can be replaced while the process runs. */
  apiKey: string | (() => string) | undefined;
  certificates: WatchedCertificate[];
}

/** A certificate that this process has loaded. */
export interface WatchedCertificate {
  setting: CertificateSetting;
  expiresAt: Date;
  /** Whether its file has another certificate by now, which counts from the next start. */
  isReplaced(): boolean;
}

type CertificateSetting = 'TEMPORAL_TLS_CERT' | 'TEMPORAL_TLS_CA';

const PEM = '-----BEGIN ';
const MAX_CERTIFICATES = 500;
const MAX_KEY_LENGTH = 8_192;
const KEY_KNOWN_MS = 1_000;

/** What is wrong with the settings and the files that they name; empty if nothing is. */
export function temporalProblems(env: TemporalConnectionEnv): SettingProblem[] {
  const problems = conflicts(env);
  if (problems.length > 0) return problems;
  try {
    readTemporalCredentials(env);
    return [];
  } catch (error) {
    if (error instanceof CredentialProblem) return [{ name: error.setting, message: error.message }];
    throw error;
  }
}

/** Settings that contradict each other. */
function conflicts(env: TemporalConnectionEnv): SettingProblem[] {
  const problems: SettingProblem[] = [];
  const tls = [
    'TEMPORAL_TLS_CA',
    'TEMPORAL_TLS_CERT',
    'TEMPORAL_TLS_KEY',
    'TEMPORAL_TLS_SERVER_NAME',
  ] as const;
  const set = tls.find((name) => env[name] !== undefined);
  if (env.TEMPORAL_TLS === false && set !== undefined)
    problems.push({ name: 'TEMPORAL_TLS', message: `must not be false with ${set}` });
  if (env.TEMPORAL_API_KEY !== undefined && env.TEMPORAL_API_KEY_FILE !== undefined)
    problems.push({
      name: 'TEMPORAL_API_KEY_FILE',
      message: 'contradicts TEMPORAL_API_KEY: set one of them',
    });
  const hasKey = env.TEMPORAL_API_KEY !== undefined || env.TEMPORAL_API_KEY_FILE !== undefined;
  if (env.TEMPORAL_TLS === false && hasKey && !isLoopback(env.TEMPORAL_ADDRESS))
    problems.push({ name: 'TEMPORAL_TLS', message: 'must not be false with an API key, except on loopback' });
  return problems;
}

function isLoopback(address: string): boolean {
  const host = address.replace(/:\d+$/, '').replaceAll(/[[\]]/g, '');
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

class CredentialProblem extends Error {
  readonly setting: string;

  constructor(setting: string, message: string) {
    super(message);
    this.setting = setting;
  }
}

/** Reads the files that the settings name. @throws an Error that names the setting */
export function readTemporalCredentials(env: TemporalConnectionEnv): TemporalCredentials {
  const { TEMPORAL_TLS_CA: ca, TEMPORAL_TLS_CERT: cert, TEMPORAL_TLS_KEY: key } = env;
  const { TEMPORAL_TLS_SERVER_NAME: serverName } = env;
  const apiKey = apiKeyOf(env);
  const isDefined = ca !== undefined || cert !== undefined || serverName !== undefined;
  if (!isDefined) return { tls: env.TEMPORAL_TLS ?? (apiKey ? true : undefined), apiKey, certificates: [] };
  const tls: TemporalTls = serverName === undefined ? {} : { serverNameOverride: serverName };
  const certificates: WatchedCertificate[] = [];
  if (ca !== undefined) {
    tls.serverRootCACertificate = pemOf('TEMPORAL_TLS_CA', ca);
    certificates.push(watched('TEMPORAL_TLS_CA', ca));
  }
  if (cert !== undefined && key !== undefined) {
    tls.clientCertPair = { crt: pemOf('TEMPORAL_TLS_CERT', cert), key: pemOf('TEMPORAL_TLS_KEY', key) };
    checkPair(tls.clientCertPair);
    certificates.push(watched('TEMPORAL_TLS_CERT', cert));
  }
  return { tls, apiKey, certificates };
}

/** PEM text, in one line with `\n` too, or a path. */
function pemOf(setting: string, value: string): Buffer {
  if (value.includes(PEM)) return Buffer.from(value.replaceAll(String.raw`\n`, '\n'));
  let text: Buffer;
  try {
    text = readFileSync(value);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
    throw new CredentialProblem(setting, `must be PEM text, or the path of a file to read (${code})`);
  }
  if (!text.includes(PEM)) throw new CredentialProblem(setting, 'names a file that is not PEM');
  return text;
}

function checkPair({ crt, key }: { crt: Buffer; key: Buffer }): void {
  const [certificate] = certificatesIn('TEMPORAL_TLS_CERT', crt);
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(key);
  } catch {
    throw new CredentialProblem('TEMPORAL_TLS_KEY', 'must be a private key in PEM, without a passphrase');
  }
  if (certificate?.checkPrivateKey(privateKey) !== true)
    throw new CredentialProblem('TEMPORAL_TLS_KEY', 'is not the key of TEMPORAL_TLS_CERT');
}

function certificatesIn(setting: CertificateSetting, pem: Buffer): X509Certificate[] {
  const blocks = pem.toString().match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    const found = blocks.slice(0, MAX_CERTIFICATES).map((block) => new X509Certificate(block));
    if (found.length > 0) return found;
  } catch {
    // Named below.
  }
  throw new CredentialProblem(setting, 'must have certificates in PEM');
}

function watched(setting: CertificateSetting, value: string): WatchedCertificate {
  const loaded = certificatesIn(setting, pemOf(setting, value));
  const marks = (certificates: readonly X509Certificate[]): string =>
    certificates.map(({ fingerprint256 }) => fingerprint256).join();
  const before = marks(loaded);
  // A bundle of authorities may have old ones, which do no harm: it counts as long as one is valid.
  const times = loaded.map(({ validTo }) => Date.parse(validTo));
  const expiresMs = setting === 'TEMPORAL_TLS_CA' ? Math.max(...times) : Math.min(...times);
  return {
    setting,
    expiresAt: new Date(expiresMs),
    isReplaced: () => {
      if (value.includes(PEM)) return false;
      try {
        return marks(certificatesIn(setting, pemOf(setting, value))) !== before;
      } catch {
        // It is being written; what is loaded still counts.
        return false;
      }
    },
  };
}

function apiKeyOf(env: TemporalConnectionEnv): string | (() => string) | undefined {
  const { TEMPORAL_API_KEY: fixed, TEMPORAL_API_KEY_FILE: path } = env;
  if (fixed !== undefined) return checkedKey('TEMPORAL_API_KEY', fixed);
  if (path === undefined) return undefined;
  let known = readKey(path);
  let readMs = performance.now();
  return () => {
    if (performance.now() - readMs < KEY_KNOWN_MS) return known;
    readMs = performance.now();
    try {
      known = readKey(path);
    } catch (error) {
      // The file is being replaced: the former key counts until there is another one.
      if (!(error instanceof CredentialProblem)) throw error;
    }
    return known;
  };
}

function readKey(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
    throw new CredentialProblem('TEMPORAL_API_KEY_FILE', `must be the path of a file to read (${code})`);
  }
  return checkedKey('TEMPORAL_API_KEY_FILE', text);
}

/** It becomes a header. */
function checkedKey(setting: string, key: string): string {
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_KEY_LENGTH) return key;
  throw new CredentialProblem(setting, 'must have one line of printable characters without spaces');
}
