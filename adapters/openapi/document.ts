/** OpenAPI documents: fetched through the egress policy, kept for a minute, then asked for by their ETag. */
import { parse } from 'yaml';
import { fault } from '../../contracts/fault.ts';
import type { EgressResponse } from '../egress.ts';

export type Fields = Record<string, unknown>;

/** `url`: where it was found after redirects; what relative addresses in it start from. */
export interface ApiDocument {
  url: string;
  root: Fields;
}

/** Sends a GET. */
export type Get = (url: string, headers: Record<string, string>, maxBytes: number) => Promise<EgressResponse>;

export interface DocumentSource {
  /** `shared: false`: fetched for this call only, as a document that needs an authentication is. Throws `Fault`. */
  load(url: string, get: Get, options?: { shared?: boolean }): Promise<ApiDocument>;
}

const MAX_JSON_BYTES = 8 * 1024 * 1024;
/** Parsing YAML takes some hundred times as long as JSON. */
const MAX_YAML_BYTES = 2 * 1024 * 1024;
const FRESH_MS = 60_000;
const MAX_KEPT = 50;
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

interface Kept {
  document: ApiDocument;
  etag: string | undefined;
  until: number;
  bytes: number;
}

export function createDocumentSource(now: () => number = Date.now): DocumentSource {
  const kept = new Map<string, Kept>();

  const keep = (url: string, entry: Kept): void => {
    kept.delete(url);
    kept.set(url, entry);
    let bytes = 0;
    for (const each of kept.values()) bytes += each.bytes;
    // The oldest go first.
    for (const [key, each] of kept) {
      if (kept.size <= MAX_KEPT && bytes <= MAX_KEPT_BYTES) break;
      kept.delete(key);
      bytes -= each.bytes;
    }
  };

  return {
    async load(url, get, { shared = true } = {}) {
      const before = shared ? kept.get(url) : undefined;
      if (before && before.until > now()) return before.document;
      const condition: Record<string, string> = before?.etag === undefined ? {} : { 'if-none-match': before.etag };
      const answer = await get(url, { accept: 'application/json, application/yaml;q=0.9, */*;q=0.8', 'user-agent': 'Cadenza', ...condition }, MAX_JSON_BYTES);
      const until = now() + FRESH_MS;
      if (before && answer.status === 304) {
        keep(url, { ...before, until });
        return before.document;
      }
      if (answer.status !== 200) throw fault('communication', `${shown(url)}, the OpenAPI document, answered ${answer.status}`, { status: answer.status >= 400 ? answer.status : 502 });
      const document = { url: answer.url, root: parsed(answer) };
      if (shared) keep(url, { document, etag: answer.headers['etag'], until, bytes: answer.bytes.length });
      return document;
    },
  };
}

function parsed(answer: EgressResponse): Fields {
  const text = new TextDecoder().decode(answer.bytes);
  const isJson = /^\s*[[{]/.test(text);
  const wrong = (why: string): Error => fault('configuration', `${shown(answer.url)} is no OpenAPI document: ${why}`);
  if (!isJson && answer.bytes.length > MAX_YAML_BYTES) throw wrong(`YAML may have ${MAX_YAML_BYTES} bytes; larger documents are read as JSON only`);
  let value: unknown;
  try {
    value = isJson ? JSON.parse(text) : parse(text, { maxAliasCount: 100, logLevel: 'error' });
  } catch {
    throw wrong(`it is not valid ${isJson ? 'JSON' : 'YAML'}`);
  }
  if (!isFields(value)) throw wrong('it is not an object');
  return value;
}

/** An address for messages: without query, which may hold keys. */
export function shown(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member that is an object, or an empty one. */
export function fieldsOf(holder: Fields, key: string): Fields {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
  return isFields(value) ? value : {};
}

export function listOf(holder: Fields, key: string): unknown[] {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
  return Array.isArray(value) ? value : [];
}

export function textOf(holder: Fields, key: string): string | undefined {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}
