/** Two sums that Kafka's protocol and its clients share. */

const CASTAGNOLI = 0x82f63b78;
const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ CASTAGNOLI : value >>> 1;
  return value;
});

/** RFC 3720 appendix B.4. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}

const SEED = 0x9747b28c;
const FACTOR = 0x5bd1e995;

/** MurmurHash2, by which Kafka's own clients choose the partition of a key. */
export function murmur2(bytes: Buffer): number {
  let hash = SEED ^ bytes.length;
  const whole = bytes.length & ~3;
  for (let at = 0; at < whole; at += 4) {
    let part = Math.imul(bytes.readInt32LE(at), FACTOR);
    part = Math.imul(part ^ (part >>> 24), FACTOR);
    hash = Math.imul(hash, FACTOR) ^ part;
  }
  const left = bytes.length - whole;
  if (left === 3) hash ^= bytes.readUInt8(whole + 2) << 16;
  if (left >= 2) hash ^= bytes.readUInt8(whole + 1) << 8;
  if (left >= 1) hash = Math.imul(hash ^ bytes.readUInt8(whole), FACTOR);
  hash = Math.imul(hash ^ (hash >>> 13), FACTOR);
  return (hash ^ (hash >>> 15)) & 0x7fffffff;
}
