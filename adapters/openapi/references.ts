/** `$ref` (RFC 6901 in a URI's fragment), followed where it is met: nothing is expanded that a call does not need. */
import { fault } from '../../contracts/fault.ts';
import type { ApiDocument, Fields } from './document.ts';
import { isFields, shown, textOf } from './document.ts';

/** A part of a document, and which one it is of. */
export interface Part {
  value: Fields;
  document: ApiDocument;
}

export type Load = (url: string) => Promise<ApiDocument>;

const MAX_STEPS = 20;

export function isExternal(value: unknown): boolean {
  return isFields(value) && !(textOf(value, '$ref') ?? '#').startsWith('#');
}

/** The part behind a value that may be a reference. Throws `Fault` (configuration) where it leads nowhere. */
export async function partAt(value: unknown, document: ApiDocument, load: Load): Promise<Part> {
  let part = { value, document };
  for (let step = 0; step < MAX_STEPS; step++) {
    if (!isFields(part.value)) return { value: {}, document: part.document };
    const reference = textOf(part.value, '$ref');
    if (reference === undefined) return { value: part.value, document: part.document };
    part = await follow(reference, part.document, load);
  }
  throw fault('configuration', `${shown(document.url)}: a $ref leads in a circle`);
}

async function follow(reference: string, document: ApiDocument, load: Load): Promise<{ value: unknown; document: ApiDocument }> {
  const [address = '', pointer = ''] = reference.split('#', 2);
  const url = address === '' ? document.url : URL.canParse(address, document.url) ? new URL(address, document.url).href : null;
  if (url === null) throw fault('configuration', `${shown(document.url)}: the $ref ${JSON.stringify(reference)} is no address`);
  const target = url === document.url ? document : await load(url);
  let value: unknown = target.root;
  for (const key of keysOf(pointer)) {
    value = typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Fields)[key] : undefined;
    if (value === undefined) throw fault('configuration', `${shown(document.url)}: there is nothing at the $ref ${JSON.stringify(reference)}`);
  }
  return { value, document: target };
}

function keysOf(pointer: string): string[] {
  let decoded = pointer;
  try {
    decoded = decodeURIComponent(pointer);
  } catch {
    // Not encoded, then.
  }
  return decoded.split('/').slice(1).map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}
