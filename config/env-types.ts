/** How one variable's text becomes a value; messages never repeat the value, which may be a secret. */
import { isIP } from 'node:net';
import * as z from 'zod';

export type EncryptionKey = { id: string; key: Buffer };
export type HostMapping = { from: string; to: string };

export function port(minimum: number) {
  const message = `must be a port from ${minimum} to 65535`;
  return z.string().regex(/^\d{1,5}$/, message).transform(Number)
    .refine((value) => value >= minimum && value <= 65_535, message);
}

export function switchOn() {
  return z.enum(['true', 'false', '1', '0'], { error: 'must be true or false' })
    .transform((value) => value === 'true' || value === '1');
}

/** What takes the place of a log-in: nobody may guess it. */
export function capability() {
  return z.string().regex(/^[A-Za-z0-9_-]{32,128}$/, 'must be 32 to 128 letters, digits, - or _ (openssl rand -hex 32)');
}

/** An http(s) address, without the slash at its end. */
export function webUrl() {
  return z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).transform((value) => value.replace(/\/+$/, ''));
}

/** Comma-separated. */
export function list<T extends z.ZodType<string, string>>(item: T) {
  return z.string().transform((value) => value.split(',').map((part) => part.trim()).filter(Boolean)).pipe(z.array(item));
}

/** A host name, `*.domain`, an address, or a network such as `10.0.0.0/8`. */
export function hostOrNetwork() {
  return z.string().refine(isHostOrNetwork, 'must be host names, *.domain, addresses or networks such as 10.0.0.0/8');
}

function isHostOrNetwork(value: string): boolean {
  const [address = '', bits] = value.replace(/^\[(.*)\]$/, '$1').split('/', 2);
  const version = isIP(address);
  if (bits !== undefined) return version !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
  // What looks like an address and is none would be a name that nothing has.
  return version !== 0 || (!/^[\d.]+$/.test(address) && /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/i.test(address));
}

/** `false` 0, `true` 1, or the number of proxies in front of us. */
export function trustProxy() {
  return z.string().regex(/^(true|false|\d{1,2})$/, 'must be true, false, or the number of proxies in front')
    .transform((value) => (value === 'true' ? 1 : value === 'false' ? 0 : Number(value)));
}

/** `id:base64,id:base64`, keys of 32 bytes; the first encrypts, the others still decrypt. */
export function encryptionKeys() {
  return z.string().transform((value, context): EncryptionKey[] => {
    const keys = value.split(',').map((part) => {
      const [id = '', encoded = ''] = part.trim().split(':');
      return { id, key: Buffer.from(encoded, 'base64') };
    });
    const wellFormed = keys.every(({ id, key }) => /^[A-Za-z0-9_-]{1,64}$/.test(id) && key.length === 32);
    if (!wellFormed) context.addIssue('must be id:key,id:key with keys of 32 bytes in base64');
    if (new Set(keys.map(({ id }) => id)).size < keys.length) context.addIssue('names a key id twice');
    return keys;
  });
}

/** `https://host=http://127.0.0.1:port,…` as pairs of origins. */
export function hostMap() {
  const message = 'must be origin=origin,… such as https://api.example.com=http://127.0.0.1:9000';
  return z.string().transform((value, context): HostMapping[] =>
    value.split(',').flatMap((part) => {
      const [from = '', to = '', more] = part.trim().split('=');
      if (more === undefined && isOrigin(from) && isOrigin(to)) return [{ from: new URL(from).origin, to: new URL(to).origin }];
      context.addIssue(message);
      return [];
    }),
  );
}

/** A name that is kept for later: setting it is refused rather than ignored. */
export function notAvailable(what: string) {
  return z.never({ error: `is not available yet: ${what} cannot be configured in this version` }).optional();
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
}
