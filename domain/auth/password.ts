/** Passwords: argon2id by Node's own crypto, kept in the PHC string format. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

export const shortestPassword = 12;
export const longestPassword = 1024;

const derive = promisify(argon2);
/** OWASP's first choice for argon2id: 19 MiB, two passes. */
const now = { memory: 19_456, passes: 2, parallelism: 1 };
const tagLength = 32;

/** `$argon2id$v=19$m=…,t=…,p=…$salt$hash` */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const hash = await derive('argon2id', { ...now, message: password, nonce, tagLength });
  return `$argon2id$v=19$m=${now.memory},t=${now.passes},p=${now.parallelism}$${encode(nonce)}$${encode(hash)}`;
}

/** Without a hash it takes the same time and says no: whether a user exists must not show. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(hash ?? '');
  const [, memory, passes, parallelism, salt = '', expected = ''] = parts ?? [];
  const tag = Buffer.from(expected, 'base64');
  const computed = await derive('argon2id', {
    memory: parts ? Number(memory) : now.memory,
    passes: parts ? Number(passes) : now.passes,
    parallelism: parts ? Number(parallelism) : now.parallelism,
    message: password,
    nonce: parts ? Buffer.from(salt, 'base64') : randomBytes(16),
    tagLength: parts ? tag.length : tagLength,
  });
  return parts !== null && timingSafeEqual(computed, tag);
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
