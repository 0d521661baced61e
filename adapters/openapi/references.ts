/**
 * Resolves `$ref` (a URI with an RFC 6901 pointer as its fragment) when it is met, so nothing is expanded
 * that a call does not need.
 */
import { pointerTokens } from '../../contracts/json-pointer.ts';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { shown, textOf, type ApiDocument, type Fields } from './document.ts';

/** A part of a document, with the document that it belongs to. */
export interface Part {
  value: Fields;
  document: ApiDocument;
}

export type Load = (url: string) => Promise<ApiDocument>;

const MAX_STEPS = 20;

export function isExternal(value: unknown): boolean {
  return isRecord(value) && !(textOf(value, '$ref') ?? '#').startsWith('#');
}

/** Resolves a value that may be a reference. Throws `Fault` (configuration) for a broken reference. */
export async function partAt(value: unknown, document: ApiDocument, load: Load): Promise<Part> {
  let part = { value, document };
  for (let step = 0; step < MAX_STEPS; step++) {
    if (!isRecord(part.value)) return { value: {}, document: part.document };
    const reference = textOf(part.value, '$ref');
    if (reference === undefined) return { value: part.value, document: part.document };
    part = await follow(reference, part.document, load);
  }
  throw fault('configuration', `${shown(document.url)}: a $ref leads in a circle`);
}

async function follow(
  reference: string,
  document: ApiDocument,
  load: Load,
): Promise<{ value: unknown; document: ApiDocument }> {
  const [address = '', pointer = ''] = reference.split('#', 2);
  const url =
    address === ''
      ? document.url
      : URL.canParse(address, document.url)
        ? new URL(address, document.url).href
        : null;
  if (url === null)
    throw fault(
      'configuration',
      `${shown(document.url)}: the $ref ${JSON.stringify(reference)} is not a valid URL`,
    );
  const target = url === document.url ? document : await load(url);
  let value: unknown = target.root;
  for (const key of keysOf(pointer)) {
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Fields)[key]
        : undefined;
    if (value === undefined)
      throw fault(
        'configuration',
        `${shown(document.url)}: there is nothing at the $ref ${JSON.stringify(reference)}`,
      );
  }
  return { value, document: target };
}

function keysOf(pointer: string): string[] {
  let decoded = pointer;
  try {
    decoded = decodeURIComponent(pointer);
  } catch {
    // The pointer is not percent-encoded.
  }
  return pointerTokens(decoded);
}
