/** ES256 key pairs that sign access tokens: made here, kept encrypted in PostgreSQL, shared by all copies of the API. */
import { createPrivateKey, createPublicKey, generateKeyPair, randomUUID, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

import type { EntityManager } from '../../db/orm.ts';
import type { Encryption } from '../secrets/encryption.ts';

/** A new key is made when the newest is older. */
const rotateAfterMs = 30 * 24 * 3_600_000;
/** A replaced key stays valid so long; a token lives 15 minutes. */
const keepReplacedMs = 24 * 3_600_000;
const cacheMs = 60_000;

export interface PublicJwk {
  kty: string;
  crv: string;
  x: string;
  y: string;
  kid: string;
  alg: string;
  use: string;
}

export interface SigningKeys {
  /** The key to sign with; the first call ever makes one. */
  current(): Promise<{ kid: string; privateKey: KeyObject }>;
  /** Null if no key has that id, or it is too old. */
  publicKey(kid: string): Promise<KeyObject | null>;
  /** RFC 7517. */
  jwks(): Promise<{ keys: PublicJwk[] }>;
}

interface Row {
  kid: string;
  public_jwk: PublicJwk;
  private_key_encrypted: string;
  created_at: string | Date;
}

interface Loaded {
  atMs: number;
  rows: Row[];
  publicKeys: Map<string, KeyObject>;
  signer: { kid: string; privateKey: KeyObject } | null;
}

/** `fork` gives an entity manager of its own. */
export function createSigningKeys(fork: () => EntityManager, encryption: Encryption): SigningKeys {
  let cache: Loaded | null = null;

  async function load(maxAgeMs: number): Promise<Loaded> {
    if (!cache || Date.now() - cache.atMs > maxAgeMs) {
      cache = digest(await readRows(fork()));
    }
    return cache;
  }

  function digest(all: Row[]): Loaded {
    const rows = all.filter((_, index) => index === 0 || ageMs(all[index - 1]) < keepReplacedMs);
    return {
      atMs: Date.now(),
      rows,
      publicKeys: new Map(rows.map((row) => [row.kid, createPublicKey({ key: { ...row.public_jwk }, format: 'jwk' })])),
      signer: null,
    };
  }

  function signerOf(loaded: Loaded): { kid: string; privateKey: KeyObject } | null {
    const newest = loaded.rows[0];
    if (!newest || ageMs(newest) > rotateAfterMs) {
      return null;
    }
    loaded.signer ??= { kid: newest.kid, privateKey: createPrivateKey(encryption.decrypt(newest.private_key_encrypted, context(newest.kid))) };
    return loaded.signer;
  }

  return {
    async current() {
      const known = signerOf(await load(cacheMs));
      if (known) {
        return known;
      }
      await fork().transactional(async (em) => {
        await em.execute(`select pg_advisory_xact_lock(hashtextextended('signing_key', 0))`);
        const [newest] = await readRows(em);
        if (!newest || ageMs(newest) > rotateAfterMs) {
          await insertKey(em, encryption);
        }
      });
      const made = signerOf(await load(-1));
      if (!made) {
        throw new Error('no signing key after making one');
      }
      return made;
    },
    async publicKey(kid) {
      const loaded = await load(cacheMs);
      // Unknown here may be new there: another copy of the API may have made it a moment ago.
      return loaded.publicKeys.get(kid) ?? (await load(-1)).publicKeys.get(kid) ?? null;
    },
    async jwks() {
      const loaded = await load(-1);
      return { keys: loaded.rows.map((row) => row.public_jwk) };
    },
  };
}

/** Newest first. */
async function readRows(em: EntityManager): Promise<Row[]> {
  return em.execute<Row[]>('select kid, public_jwk, private_key_encrypted, created_at from signing_key order by created_at desc, kid');
}

async function insertKey(em: EntityManager, encryption: Encryption): Promise<void> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  const kid = randomUUID();
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  await em.execute('insert into signing_key (kid, public_jwk, private_key_encrypted) values (?, ?::jsonb, ?)', [
    kid,
    JSON.stringify({ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }),
    encryption.encrypt(pem, context(kid)),
  ]);
}

function context(kid: string): string {
  return `signing_key:${kid}`;
}

function ageMs(row: Row | undefined): number {
  return row ? Date.now() - new Date(row.created_at).getTime() : Infinity;
}
