import { z } from 'zod';
import { freeObject, text } from './common-shapes.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { own } from './problems.ts';
import { exact } from './shape.ts';
import type { DefinitionDocument } from './model.ts';

export const SEMVER = new RegExp(
  [
    String.raw`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)`,
    String.raw`(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`,
    String.raw`(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?`,
    String.raw`(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$`,
  ].join(''),
);

const LABEL = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/;
const MAX_LABEL_LENGTH = 63;

const label = z
  .string()
  .regex(LABEL, 'must be letters, digits and hyphens (63 at most), not beginning or ending with a hyphen');
const version = z.string().regex(SEMVER, 'must be a semantic version such as 1.0.0');

export const documentShape = exact({
  dsl: version,
  namespace: label,
  name: label,
  version,
  title: text.optional(),
  summary: text.optional(),
  tags: freeObject.optional(),
  metadata: freeObject.optional(),
});

/** DSL version of generated documents. */
const DSL_VERSION = '1.0.3';

export function isSupportedDsl(dsl: string): boolean {
  return /^1\.0\.\d+/.test(dsl);
}

/** Generates a `document` block from the name of the workflow's record. */
function documentFor(name: string): DefinitionDocument {
  return { dsl: DSL_VERSION, namespace: 'default', name: slug(name), version: '0.1.0' };
}

/** Adds a missing `document` as the first property. Everything else stays unchanged. */
export function completeDocument(definition: unknown, name: string): unknown {
  if (!isRecord(definition) || own(definition, 'document') !== undefined) return definition;
  return { document: documentFor(name), ...definition };
}

function slug(name: string): string {
  const plain = name
    .slice(0, 500)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, MAX_LABEL_LENGTH)
    .replace(/-$/, '');
  return plain === '' ? 'workflow' : plain;
}
