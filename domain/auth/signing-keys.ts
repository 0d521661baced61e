/**
 * The ES256 key pairs that sign access tokens. They are generated here, stored encrypted in PostgreSQL and
 * shared by all API processes.
 */
import { createPrivateKey, createPublicKey, generateKeyPair, randomUUID, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

import type { EntityManager } from '../../db/orm.ts';
import type { Encryption } from '../secrets/encryption.ts';

/** A new key is generated once the newest is older than this. */
const ROTATE_AFTER_MS = 30 * 24 * 3_600_000;
/** How long a replaced key stays valid; tokens live 15 minutes. */
const KEEP_REPLACED_MS = 24 * 3_600_000;
const CACHE_MS = 60_000;

interface PublicJwk {
  kty: string;
  crv: string;
  x: string;
  y: string;
  kid: string;
  alg: string;
  use: string;
}

export interface SigningKeys {
  /** The key to sign with; generated on first use. */
  current(): Promise<{ kid: string; privateKey: KeyObject }>;
  /** Null if there is no such key, or if it is too old. */
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

/** `fork` returns a fresh entity manager. */
export function createSigningKeys(fork: () => EntityManager, encryption: Encryption): SigningKeys {
  let cache: Loaded | null = null;

  async function load(maxAgeMs: number): Promise<Loaded> {
    if (!cache || Date.now() - cache.atMs > maxAgeMs) {
      cache = digest(await readRows(fork()));
    }
    return cache;
  }

  function digest(all: Row[]): Loaded {
    const rows = all.filter((_, index) => index === 0 || ageMs(all[index - 1]) < KEEP_REPLACED_MS);
    return {
      atMs: Date.now(),
      rows,
      publicKeys: new Map(
        rows.map((row) => [row.kid, createPublicKey({ key: { ...row.public_jwk }, format: 'jwk' })]),
      ),
      signer: null,
    };
  }

  function signerOf(loaded: Loaded): { kid: string; privateKey: KeyObject } | null {
    const newest = loaded.rows[0];
    if (!newest || ageMs(newest) > ROTATE_AFTER_MS) {
      return null;
    }
    loaded.signer ??= {
      kid: newest.kid,
      privateKey: createPrivateKey(encryption.decrypt(newest.private_key_encrypted, context(newest.kid))),
    };
    return loaded.signer;
  }

  return {
    async current() {
      const known = signerOf(await load(CACHE_MS));
      if (known) {
        return known;
      }
      await fork().transactional(async (em) => {
        await em.execute(`select pg_advisory_xact_lock(hashtextextended('signing_key', 0))`);
        const [newest] = await readRows(em);
        if (!newest || ageMs(newest) > ROTATE_AFTER_MS) {
          await insertKey(em, encryption);
        }
      });
      const generated = signerOf(await load(-1));
      if (!generated) {
        throw new Error('no signing key after generating one');
      }
      return generated;
    },
    async publicKey(kid) {
      const loaded = await load(CACHE_MS);
      // Another API process may have generated the key within the cache time, so read again before refusing
      // it.
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
  return em.execute<Row[]>(
    `select kid, public_jwk, private_key_encrypted, created_at
       from signing_key order by created_at desc, kid`,
  );
}

async function insertKey(em: EntityManager, encryption: Encryption): Promise<void> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  const kid = randomUUID();
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  await em.execute(
    'insert into signing_key (kid, public_jwk, private_key_encrypted) values (?, ?::jsonb, ?)',
    [
      kid,
      JSON.stringify({ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }),
      encryption.encrypt(pem, context(kid)),
    ],
  );
}

/** Binds a sealed key to its row. */
export function context(kid: string): string {
  return `signing_key:${kid}`;
}

function ageMs(row: Row | undefined): number {
  return row ? Date.now() - new Date(row.created_at).getTime() : Infinity;
}
