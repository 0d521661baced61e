/** Files: interface-decisions §8. */
import * as z from 'zod';

import { StoredFile } from '../../../db/entities/stored-file.ts';
import { invalid } from '../../../domain/errors.ts';
import { checkFileLink, createFileLink, defaultLinkSeconds, longestLinkSeconds } from '../../../domain/files/file-link.ts';
import { addFile, deleteFile, getFile, getFileForChange, listFiles, readFile, updateFile, type Upload } from '../../../domain/files/service.ts';
import type { AppDeps } from '../../app.ts';
import { checkIfMatch } from '../../conditional.ts';
import { endpoint, media, type Endpoint, type EndpointContext, type EndpointResponse } from '../../endpoint.ts';
import { unauthorized } from '../../middleware/auth.ts';
import { claimKey, idempotencyScope, storeAnswer } from '../../middleware/idempotency.ts';
import { decodeCursor, idCursor, page } from '../../paging.ts';
import { idParams, pageQuery, text, uuid } from '../../schemas.ts';
import { contentTag, sendContent } from './content.ts';
import { fileLinkRecord, fileRecord, presentFile, visibility } from './presenter.ts';
import { receiveUpload, type Described } from './upload.ts';

const tags = ['files'];
const name = text({ min: 1, max: 255 });
const bytes = z.unknown().meta({ type: 'string', format: 'binary' });
const uploadQuery = z.object({ name: name.optional(), visibility: visibility.optional() });

export function fileEndpoints(deps: AppDeps): Endpoint[] {
  const links = { keys: deps.keys, baseUrl: deps.env.BASE_URL };
  return [
    endpoint({
      method: 'POST',
      path: '/files',
      operationId: 'uploadFile',
      summary: 'Upload a file of up to 100 MiB',
      description:
        'Raw: the body is the file, `Content-Type` its media type, its name in the query or in `Content-Disposition`. ' +
        'Or `multipart/form-data` with one file part, and the fields `name`, `media_type`, `visibility` before or after it. ' +
        'Private unless said otherwise. The same `Idempotency-Key` with the same bytes gives the first file again.',
      tags,
      role: 'builder',
      query: uploadQuery,
      rawBody: true,
      bodies: {
        '*/*': bytes,
        'multipart/form-data': z.object({ file: bytes, name: name.optional(), media_type: z.string().optional(), visibility: visibility.optional() }),
      },
      transaction: false,
      idempotent: true,
      responses: { 201: fileRecord },
      handler: async (c) => {
        const { query } = c;
        const { upload, described } = await receiveUpload(c.ctx, deps.files);
        try {
          return await saveUpload(deps, c, upload, {
            ...described,
            ...Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)),
          });
        } catch (error) {
          await upload.discard();
          throw error;
        }
      },
    }),
    endpoint({
      method: 'GET',
      path: '/files',
      operationId: 'listFiles',
      summary: 'List files that the caller may see, newest first',
      tags,
      role: 'viewer',
      query: z.object({
        ...pageQuery,
        q: z.string().max(255).optional().meta({ description: 'Part of the name.' }),
        owner_id: uuid.optional(),
        visibility: visibility.optional(),
        sha256: z.string().regex(/^[0-9a-f]{64}$/).optional(),
        run_id: uuid.optional().meta({ description: 'Files that this run was given, or made.' }),
      }),
      responses: { 200: z.array(fileRecord) },
      handler: async (c) => {
        const { limit, cursor, ...filter } = c.query;
        const files = await listFiles(c.em, c.actor, filter, { before: decodeCursor(cursor, idCursor)?.[0], limit: limit + 1 });
        const { items, headers } = page(c, files, limit, (file) => [file.id]);
        return { status: 200, body: items.map(presentFile), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/files/{id}',
      operationId: 'downloadFile',
      summary: 'The content of a file',
      description: 'One `Range` of bytes is served; `HEAD` works. With `token` (from a link) no access token is needed.',
      tags,
      role: 'viewer',
      anonymousToo: true,
      params: idParams,
      query: z.object({ token: z.string().max(4_000).optional().meta({ description: 'Of a link that reads this file until it expires.' }) }),
      responses: { 200: media({ '*/*': bytes }), 206: media({ '*/*': bytes }), 304: null },
      errors: [410, 416],
      handler: async (c) => sendContent(c.ctx, deps.files, await readableFile(c)),
    }),
    endpoint({
      method: 'GET',
      path: '/files/{id}/metadata',
      operationId: 'getFile',
      summary: 'What is known of a file',
      tags,
      role: 'viewer',
      params: idParams,
      responses: { 200: fileRecord },
      handler: async (c) => ({ status: 200, body: presentFile(await getFile(c.em, c.actor, c.params.id)) }),
    }),
    endpoint({
      method: 'PATCH',
      path: '/files/{id}',
      operationId: 'updateFile',
      summary: 'Rename a file, or change who sees it',
      tags,
      role: 'viewer',
      params: idParams,
      body: z.object({ name: name.optional(), visibility: visibility.optional() }),
      record: fileRecord,
      responses: { 200: fileRecord },
      handler: async (c) => {
        const file = await getFileForChange(c.em, c.actor, c.params.id);
        await updateFile(c.em, file, c.body);
        return { status: 200, body: presentFile(file) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/files/{id}/link',
      operationId: 'createFileLink',
      summary: 'An address that reads a file without a log-in, for a time',
      tags,
      role: 'viewer',
      params: idParams,
      body: z.object({ expires_in: z.int().min(1).max(longestLinkSeconds).default(defaultLinkSeconds).meta({ description: 'Seconds.' }) }),
      // A link is a credential: none is kept.
      idempotent: false,
      responses: { 200: fileLinkRecord },
      handler: async (c) => {
        const file = await getFileForChange(c.em, c.actor, c.params.id);
        const { url, expires_at } = await createFileLink(links, file.id, c.body.expires_in);
        return { status: 200, body: { url, expires_at: expires_at.toISOString() }, headers: { 'Cache-Control': 'no-store' } };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/files/{id}',
      operationId: 'deleteFile',
      summary: 'Delete a file',
      tags,
      role: 'viewer',
      params: idParams,
      responses: { 204: null },
      errors: [412],
      handler: async (c) => {
        const file = await getFileForChange(c.em, c.actor, c.params.id);
        checkIfMatch(c.ctx, contentTag(file));
        const { id } = file;
        await deleteFile(c.em, file);
        c.afterCommit(() => deps.files.remove(id));
        return { status: 204 };
      },
    }),
  ];

  async function readableFile(c: EndpointContext<{ id: string }, { token?: string | undefined }>): Promise<StoredFile> {
    if (c.ctx.query['token'] === undefined) {
      if (!c.ctx.get('authorization')) throw unauthorized(c.ctx);
      const file = await getFile(c.em, c.actor, c.params.id);
      // Before the content is opened: after it nobody would close it.
      void c.query;
      return file;
    }
    await checkFileLink(links, c.params.id, c.query.token ?? '');
    return readFile(c.em, c.params.id);
  }
}

/** The row, with the key of the request in one transaction; the bytes of a repeat are thrown away. */
async function saveUpload(deps: AppDeps, c: EndpointContext, upload: Upload, described: Described): Promise<EndpointResponse> {
  const seenBy = visibility.optional().safeParse(described.visibility);
  if (!seenBy.success) throw invalid([{ pointer: '/visibility', code: 'invalid_value', message: 'is private or public' }]);
  const file = { owner_id: c.actor.id, name: described.name ?? 'file', media_type: described.media_type ?? '', visibility: seenBy.data };
  const fingerprint = Buffer.from(JSON.stringify([upload.sha256, file]));
  const scope = idempotencyScope(c.ctx, c.actor, fingerprint, (value) => deps.encryption.fingerprint(value));
  const response = await c.em.transactional(async (em): Promise<EndpointResponse> => {
    const first = scope ? await claimKey(em, scope) : null;
    if (first) return first;
    const row = await addFile(em, upload, file);
    const made = { status: 201, body: presentFile(row), headers: { Location: `/files/${row.id}` } };
    if (scope) await storeAnswer(em, scope, made);
    return made;
  });
  // A repeat kept nothing of its own.
  await upload.discard();
  return response;
}

