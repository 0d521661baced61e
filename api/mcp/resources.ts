/** Files and outputs of runs as resources. */
import { ProtocolError, ProtocolErrorCode, type ReadResourceResult } from '@modelcontextprotocol/server';

import { isUuid } from '../../contracts/uuid.ts';
import { createFileLink } from '../../domain/files/file-link.ts';
import { getFile, listFiles } from '../../domain/files/service.ts';
import { getRun } from '../../domain/runs/queries.ts';
import { requireScope } from '../scopes.ts';
import type { McpCall } from './call.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { fileUri, runUri } from './results.ts';

const PAGE_SIZE = 50;
/** A larger file is read by a link. */
const MAX_INLINE_BYTES = 4 * 1024 * 1024;
const URI = /^cadenza:\/\/(files|runs)\/([0-9a-f-]{36})$/;

export const RESOURCE_TEMPLATES = [
  { name: 'file', title: 'File', uriTemplate: fileUri('{file_id}'), description: 'A file of this server.' },
  {
    name: 'run',
    title: 'Run',
    uriTemplate: runUri('{run_id}'),
    description: 'The state and the output of a run.',
    mimeType: 'application/json',
  },
];

/** The caller's files, newest first. */
export async function listResources({ deps, actor }: McpCall, cursor: string | undefined) {
  requireScope(actor, 'files:read');
  const after = cursor === undefined ? undefined : decodeCursor(cursor)[1];
  const files = await listFiles(
    deps.orm.em.fork(),
    actor,
    { owner_id: actor.id },
    { limit: PAGE_SIZE + 1, ...(after === undefined ? {} : { after }) },
  );
  const shown = files.slice(0, PAGE_SIZE);
  const last = shown.at(-1);
  return {
    resources: shown.map(({ id, name, media_type, size }) => ({
      uri: fileUri(id),
      name,
      mimeType: media_type,
      size: Number(size),
    })),
    ...(files.length > PAGE_SIZE && last ? { nextCursor: encodeCursor(['files', last.id]) } : {}),
  };
}

/** @throws ProtocolError for a resource that does not exist or that the caller may not see */
export async function readResource(call: McpCall, uri: string): Promise<ReadResourceResult> {
  const [, kind, id = ''] = URI.exec(uri) ?? [];
  if (kind === undefined || !isUuid(id)) throw noResource(uri);
  const { deps, actor } = call;
  requireScope(actor, kind === 'runs' ? 'runs:read' : 'files:read');
  const em = deps.orm.em.fork();
  if (kind === 'runs') {
    const { status, output, error, waiting_on: waiting_for } = await getRun(em, actor, id);
    const text = JSON.stringify({ run_id: id, status, output, error, waiting_for });
    return { contents: [{ uri, mimeType: 'application/json', text }] };
  }
  const file = await getFile(em, actor, id);
  const mimeType = file.media_type;
  if (Number(file.size) > MAX_INLINE_BYTES) {
    const { url } = await createFileLink({ keys: deps.keys, baseUrl: deps.env.BASE_URL }, id);
    const text = `The file ${file.name} has ${file.size} bytes. For an hour it can be read at ${url}`;
    return { contents: [{ uri, mimeType: 'text/plain', text }] };
  }
  const chunks: Buffer[] = [];
  for await (const chunk of await deps.files.open(id)) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const text = /^text\/|[/+]json\b/.test(mimeType) ? textOf(bytes) : null;
  return {
    contents: [text === null ? { uri, mimeType, blob: bytes.toString('base64') } : { uri, mimeType, text }],
  };
}

function textOf(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export function noResource(uri: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no resource ${uri.slice(0, 200)}`, {
    uri: uri.slice(0, 200),
  });
}
