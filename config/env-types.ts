/** Parsers of environment variables. Messages never repeat a value, which may be a secret. */
import { resolve } from 'node:path';
import { isIP } from 'node:net';
import * as z from 'zod';
import { claimOf } from '../contracts/claim-text.ts';
import { secondFactorRule } from '../contracts/identity.ts';
import { mcpCommandsSchema } from '../contracts/mcp-commands.ts';
import { withoutEnd } from '../contracts/text-end.ts';

export type EncryptionKey = { id: string; key: Buffer };
export type HostMapping = { from: string; to: string };

export function port(minimum: number) {
  const message = `must be a port from ${minimum} to 65535`;
  return z
    .string()
    .regex(/^\d{1,5}$/, message)
    .transform(Number)
    .refine((value) => value >= minimum && value <= 65_535, message);
}

export function switchOn() {
  return z
    .enum(['true', 'false', '1', '0'], { error: 'must be true or false' })
    .transform((value) => value === 'true' || value === '1');
}

/** The most of something; 0 stands for no limit. `least` and `most`: of a limit, if there is one. */
export function quota(standard: number, { least = 1, most = 1e15 }: { least?: number; most?: number } = {}) {
  return z.coerce
    .number()
    .int()
    .min(0)
    .max(most)
    .refine((limit) => limit === 0 || limit >= least, `must be 0 (no limit), or ${least} at least`)
    .default(standard);
}

const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

/** A time such as `30m`, `6h` or `1d`, in seconds. */
export function interval() {
  return z
    .string()
    .regex(/^[1-9]\d{0,3}[mhd]$/, 'must be a time such as 30m, 6h or 1d')
    .transform((value) => Number(value.slice(0, -1)) * (SECONDS[value.slice(-1)] ?? 1));
}

/** A time of the day such as `02:30`, in seconds after midnight. */
export function timeOfDay() {
  return z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of the day (UTC) such as 02:30')
    .transform((value) => Number(value.slice(0, 2)) * 3_600 + Number(value.slice(3)) * 60);
}

/** A token that replaces a login, so it must be hard to guess. */
export function capability() {
  return z
    .string()
    .regex(/^[A-Za-z0-9_-]{32,128}$/, 'must be 32 to 128 letters, digits, - or _ (openssl rand -hex 32)');
}

/** The name of a namespace or task queue. It is also part of queries, between quotes. */
export function temporalName() {
  return z
    .string()
    .regex(/^[^\s'"`\\]{1,200}$/, 'must be a name of up to 200 characters without spaces and quotes');
}

/** The `client_id` of an OAuth client that the settings describe. */
export function oauthClientName() {
  return z.string().regex(/^[A-Za-z][\w-]{0,99}$/, 'must be a name such as temporal-ui');
}

/** Part of the name of a version of workers. */
export function versionName() {
  return z.string().regex(/^[A-Za-z0-9][\w-]{0,99}$/, 'must be up to 100 letters, digits, - and _');
}

/** An http(s) URL. Trailing slashes are removed. */
export function webUrl() {
  return z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .transform((value) => withoutEnd(value, '/'));
}

/** OpenTelemetry "General SDK Configuration". */
export const TRACE_SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** The address of a trace, with `{trace_id}` in it. */
export function traceUrl() {
  return z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((value) => value.includes('{trace_id}'), 'must have {trace_id} in it');
}

/** JSON: programs by name, each with `argv` and the names of variables that definitions may set. */
export function mcpCommands() {
  const message = 'must be JSON such as {"files":{"argv":["/opt/mcp/files"],"environment":["TOKEN"]}}';
  return z
    .string()
    .transform((value, context) => {
      try {
        return JSON.parse(value) as unknown;
      } catch {
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      }
    })
    .pipe(mcpCommandsSchema);
}

/** The claim, and its value, of a log-in with a second factor. */
export function secondFactorClaim() {
  return z
    .string()
    .transform((value, context): z.input<typeof secondFactorRule> => {
      const rule = claimOf(value);
      if (rule !== null) return rule;
      context.addIssue({ code: 'custom', message: 'must be a claim and its value such as amr=mfa' });
      return z.NEVER;
    })
    .pipe(secondFactorRule);
}

export function postgresUrl() {
  const error = 'must be a URL like postgres://user:password@host:5432/database';
  return z.url({ protocol: /^postgres(ql)?$/, error });
}

/** A comma-separated list. */
export function list<T extends z.ZodType<string, string>>(item: T) {
  return z
    .string()
    .transform((value) =>
      value
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
    )
    .pipe(z.array(item));
}

/** A host name, `*.domain`, an address, or a network such as `10.0.0.0/8`. */
export function hostOrNetwork() {
  return z
    .string()
    .refine(isHostOrNetwork, 'must be host names, *.domain, addresses or networks such as 10.0.0.0/8');
}

/** Like `hostOrNetwork`, with an optional port. An IPv6 address with a port needs brackets. */
export function deniedAddress() {
  const message =
    'must be host names, *.domain, addresses or networks, each with or without a port, such as 10.0.0.5:9464';
  return z.string().refine((value) => {
    const { host, port: number } = splitPort(value);
    return isHostOrNetwork(host) && (number === null || (number >= 1 && number <= 65_535));
  }, message);
}

/** Splits `host:port`; the port is null if absent. An IPv6 address with a port needs brackets. */
export function splitPort(value: string): { host: string; port: number | null } {
  const [, host = value, digits] = /^(\[[^\]]*\](?:\/\d+)?|[^:]*):(\d{1,5})$/.exec(value) ?? [];
  return { host, port: digits === undefined ? null : Number(digits) };
}

function isHostOrNetwork(value: string): boolean {
  const [address = '', bits] = value.replace(/^\[(.*)\]$/, '$1').split('/', 2);
  const version = isIP(address);
  if (bits !== undefined)
    return version !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
  // A malformed address must not pass as a host name.
  return (
    version !== 0 ||
    (!/^[\d.]+$/.test(address) && /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/i.test(address))
  );
}

/** Number of proxies in front of the API: `false` is 0, `true` is 1. */
export function trustProxy() {
  return z
    .string()
    .regex(/^(true|false|\d{1,2})$/, 'must be true, false, or the number of proxies in front')
    .transform((value) => (value === 'true' ? 1 : value === 'false' ? 0 : Number(value)));
}

/** `id:base64,id:base64` with keys of 32 bytes. The first key encrypts; the others only decrypt. */
export function encryptionKeys() {
  return z.string().transform((value, context): EncryptionKey[] => {
    const keys = value.split(',').map((part) => {
      const [id = '', encoded = ''] = part.trim().split(':');
      return { id, key: Buffer.from(encoded, 'base64') };
    });
    const wellFormed = keys.every(({ id, key }) => /^[A-Za-z0-9_-]{1,64}$/.test(id) && key.length === 32);
    if (!wellFormed) context.addIssue('must be id:key,id:key with keys of 32 bytes in base64');
    if (new Set(keys.map(({ id }) => id)).size < keys.length) context.addIssue('must not repeat a key id');
    return keys;
  });
}

/** Parses `https://host=http://127.0.0.1:port,…` to pairs of origins. */
export function hostMap() {
  const message = 'must be origin=origin,… such as https://api.example.com=http://127.0.0.1:9000';
  return z.string().transform((value, context): HostMapping[] =>
    value.split(',').flatMap((part) => {
      const [from = '', to = '', more] = part.trim().split('=');
      if (more === undefined && isOrigin(from) && isOrigin(to))
        return [{ from: new URL(from).origin, to: new URL(to).origin }];
      context.addIssue(message);
      return [];
    }),
  );
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return (
    /^https?:$/.test(url.protocol) &&
    url.pathname === '/' &&
    url.search === '' &&
    url.hash === '' &&
    url.username === ''
  );
}

/**
 * A folder that files can be written to. `/proc` and `/sys` hold none, and Node never returns from making a
 * folder there.
 */
export function dataFolder() {
  return z
    .string()
    .min(1)
    .refine(
      (path) => !/^\/(?:proc|sys)(?:\/|$)/.test(resolve(path)),
      'no files can be kept in /proc or /sys',
    );
}
