/** Password hashes: argon2id by Node's crypto module, in the PHC string format. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 1024;

const derive = promisify(argon2);
/** OWASP's first recommendation for argon2id: 19 MiB, two passes. */
const currentCost = { memory: 19_456, passes: 2, parallelism: 1 };
const TAG_LENGTH = 32;

/** `$argon2id$v=19$m=…,t=…,p=…$salt$hash` */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const hash = await derive('argon2id', { ...currentCost, message: password, nonce, tagLength: TAG_LENGTH });
  const { memory, passes, parallelism } = currentCost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce)}$${encode(hash)}`;
}

/** Takes the same time without a hash, so the response does not reveal whether the user exists. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(hash ?? '');
  const [, memory, passes, parallelism, salt = '', expected = ''] = parts ?? [];
  const tag = Buffer.from(expected, 'base64');
  const computed = await derive('argon2id', {
    memory: parts ? Number(memory) : currentCost.memory,
    passes: parts ? Number(passes) : currentCost.passes,
    parallelism: parts ? Number(parallelism) : currentCost.parallelism,
    message: password,
    nonce: parts ? Buffer.from(salt, 'base64') : randomBytes(16),
    tagLength: parts ? tag.length : TAG_LENGTH,
  });
  return parts !== null && timingSafeEqual(computed, tag);
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
