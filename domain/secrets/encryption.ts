/** AES-256-GCM for values at rest. Each ciphertext names its key, so keys can be rotated. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

export interface Encryption {
  /**
   * `context` identifies the value (`secret:<owner>:<name>`); a ciphertext copied elsewhere does not decrypt.
   */
  encrypt(plain: string, context: string): string;
  /** Throws if the key is unknown, the context differs, or the text was changed. */
  decrypt(encrypted: string, context: string): string;
  /**
   * A keyed hash (HMAC-SHA-256) in base64url. It shows whether two texts are equal, and nothing else about
   * them.
   */
  fingerprint(text: string): string;
}

/** Keys have 32 bytes each. The first one encrypts; the others only decrypt. */
export function createEncryption(keys: readonly { id: string; key: Buffer }[]): Encryption {
  const [current] = keys;
  if (!current) {
    throw new Error('ENCRYPTION_KEYS has no key');
  }
  const macKey = Buffer.from(hkdfSync('sha256', current.key, '', 'cadenza fingerprint', 32));
  return {
    fingerprint: (text) => createHmac('sha256', macKey).update(text).digest('base64url'),
    encrypt(plain, context) {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', current.key, iv);
      cipher.setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return ['v1', current.id, iv.toString('base64url'), sealed.toString('base64url')].join('.');
    },
    decrypt(encrypted, context) {
      const [version, id, iv, sealed] = encrypted.split('.');
      const found = keys.find((key) => key.id === id);
      if (version !== 'v1' || !iv || !sealed || !found) {
        throw new Error(
          `cannot decrypt: ${found ? 'unknown format' : `no encryption key with id ${id ?? ''}`}`,
        );
      }
      const bytes = Buffer.from(sealed, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', found.key, Buffer.from(iv, 'base64url'));
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(-16));
      return decipher.update(bytes.subarray(0, -16), undefined, 'utf8') + decipher.final('utf8');
    },
  };
}

/** Null if no key opens it. */
export function opened(encryption: Encryption, sealed: string, context: string): string | null {
  try {
    return encryption.decrypt(sealed, context);
  } catch {
    return null;
  }
}
