/**
 * Documents of OpenAPI and AsyncAPI: fetched under the egress policy, cached for a minute, then revalidated
 * by ETag.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { fault } from '../../contracts/fault.ts';
import { readYaml, YamlError } from '../../language/yaml/read-yaml.ts';
import type { EgressResponse } from '../egress/egress.ts';

export type Fields = Record<string, unknown>;

/** `url`: the document's URL after redirects, the base of relative URLs in it. */
export interface ApiDocument {
  url: string;
  root: Fields;
}

/** Sends a GET request. */
export type Get = (url: string, headers: Record<string, string>, maxBytes: number) => Promise<EgressResponse>;

export interface DocumentSource {
  /**
   * `shared: false`: fetches the document for this call only, for documents that need authentication. Throws
   * `Fault`.
   */
  load(url: string, get: Get, options?: { shared?: boolean }): Promise<ApiDocument>;
}

const MAX_JSON_BYTES = 8 * 1024 * 1024;
/** Parsing YAML takes a few hundred times as long as JSON. */
const MAX_YAML_BYTES = 2 * 1024 * 1024;
const YAML_LIMITS = { characters: MAX_YAML_BYTES, lexemes: 1_000_000 };
const FRESH_MS = 60_000;
const MAX_KEPT = 50;
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

interface CachedDocument {
  document: ApiDocument;
  etag: string | undefined;
  until: number;
  bytes: number;
}

/** `kind` names the documents in errors. */
export function createDocumentSource(now: () => number = Date.now, kind = 'OpenAPI'): DocumentSource {
  const kept = new Map<string, CachedDocument>();

  const keep = (url: string, entry: CachedDocument): void => {
    kept.delete(url);
    kept.set(url, entry);
    let bytes = 0;
    for (const cached of kept.values()) bytes += cached.bytes;
    // Remove the oldest first.
    for (const [key, cached] of kept) {
      if (kept.size <= MAX_KEPT && bytes <= MAX_KEPT_BYTES) break;
      kept.delete(key);
      bytes -= cached.bytes;
    }
  };

  return {
    async load(url, get, { shared = true } = {}) {
      const before = shared ? kept.get(url) : undefined;
      if (before && before.until > now()) return before.document;
      const condition: Record<string, string> =
        before?.etag === undefined ? {} : { 'if-none-match': before.etag };
      const answer = await get(
        url,
        {
          accept: 'application/json, application/yaml;q=0.9, */*;q=0.8',
          'user-agent': 'Cadenza',
          ...condition,
        },
        MAX_JSON_BYTES,
      );
      const until = now() + FRESH_MS;
      if (before && answer.status === 304) {
        keep(url, { ...before, until });
        return before.document;
      }
      if (answer.status !== 200)
        throw fault('communication', `${shown(url)}, the ${kind} document, answered ${answer.status}`, {
          status: answer.status >= 400 ? answer.status : 502,
        });
      const document = { url: answer.url, root: parsed(answer, kind) };
      if (shared) keep(url, { document, etag: answer.headers['etag'], until, bytes: answer.bytes.length });
      return document;
    },
  };
}

function parsed(answer: EgressResponse, kind: string): Fields {
  const text = new TextDecoder().decode(answer.bytes);
  const isJson = /^\s*[[{]/.test(text);
  const invalidDocument = (why: string): Error =>
    fault('configuration', `${shown(answer.url)} is not an ${kind} document: ${why}`);
  if (!isJson && answer.bytes.length > MAX_YAML_BYTES)
    throw invalidDocument(`YAML may have ${MAX_YAML_BYTES} bytes; larger documents are read as JSON only`);
  let value: unknown;
  try {
    value = isJson ? JSON.parse(text) : readYaml(text, YAML_LIMITS).value;
  } catch (error) {
    const where = error instanceof YamlError ? `: line ${error.place.line}, ${error.message}` : '';
    throw invalidDocument(`it is not valid ${isJson ? 'JSON' : 'YAML'}${where}`);
  }
  if (!isRecord(value)) throw invalidDocument('it is not an object');
  return value;
}

/** A URL for messages, without its query, which may contain keys. */
export function shown(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}

/** An own member that is an object; an empty object otherwise. */
export function fieldsOf(holder: Fields, key: string): Fields {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
  return isRecord(value) ? value : {};
}

export function listOf(holder: Fields, key: string): unknown[] {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
  return Array.isArray(value) ? value : [];
}

export function textOf(holder: Fields, key: string): string | undefined {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}
