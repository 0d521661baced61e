/** Files: docs/events-and-files.md#files. */
import * as z from 'zod';

import { StoredFile } from '../../../db/entities/stored-file.ts';
import { heldBy } from '../../../domain/audit/write.ts';
import { anonymous } from '../../../domain/auth/actor.ts';
import { conflict, invalid } from '../../../domain/errors.ts';
import {
  checkFileLink,
  createFileLink,
  DEFAULT_LINK_SECONDS,
  LONGEST_LINK_SECONDS,
} from '../../../domain/files/file-link.ts';
import {
  addFile,
  deleteFile,
  getFile,
  getFileForChange,
  listFiles,
  readFile,
  updateFile,
  type Upload,
} from '../../../domain/files/service.ts';
import { checkQuota } from '../../../domain/quotas/check.ts';
import { destinationOf, moveObject } from '../../../domain/teams/holding.ts';
import type { AppDeps } from '../../deps.ts';
import { checkIfMatch } from '../../conditional.ts';
import {
  endpoint,
  media,
  type Endpoint,
  type EndpointContext,
  type EndpointResponse,
} from '../../endpoint.ts';
import { unauthorized } from '../../middleware/auth.ts';
import { identifyAgain } from '../../middleware/identify-again.ts';
import { claimKey, idempotencyScope, storeAnswer } from '../../middleware/idempotency.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, newOwner, pageQuery, personOrMe, uuid } from '../../schemas.ts';
import { contentTag, sendContent } from './content.ts';
import { fileLinkRecord, fileRecord, presentFile, visibility } from './presenter.ts';
import { fileName as name, purposeOf, uploadQuery, type Purpose } from './purpose.ts';
import { receiveUpload, type Described } from './upload.ts';

const TAGS = ['files'];
const bytes = z.unknown().meta({ type: 'string', format: 'binary' });

export function fileEndpoints(deps: AppDeps): Endpoint[] {
  const links = { keys: deps.keys, baseUrl: deps.env.BASE_URL };
  return [
    endpoint({
      method: 'POST',
      path: '/files',
      operationId: 'uploadFile',
      summary: 'Upload a file of up to 100 MiB',
      description:
        'Raw: the body is the file, `Content-Type` is its media type, and the name is in the query or in ' +
        '`Content-Disposition`. Or `multipart/form-data` with one file part and the optional fields ' +
        '`name`, `media_type` and `visibility`. Files are private by default. Without `human_task` or ' +
        '`workflow` it needs the role builder. Repeating an `Idempotency-Key` with the same bytes returns ' +
        'the first file again.',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'approver',
      inTeams: true,
      workflowIn: 'workflowQuery',
      query: uploadQuery,
      rawBody: true,
      bodies: {
        '*/*': bytes,
        'multipart/form-data': z.object({
          file: bytes,
          name: name.optional(),
          media_type: z.string().optional(),
          visibility: visibility.optional(),
        }),
      },
      transaction: false,
      idempotent: true,
      responses: { 201: fileRecord },
      errors: [404, 409],
      handler: async (c) => {
        const { purpose, named } = await purposeOf(c);
        const { upload, described } = await receiveUpload(c.ctx, deps.files, purpose.maxBytes);
        try {
          const isAgain = await identifyAgain(c.ctx);
          return await saveUpload(deps, c, upload, {
            purpose: isAgain ? (await purposeOf(c)).purpose : purpose,
            described: {
              ...described,
              ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)),
            },
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
      tags: TAGS,
      role: 'viewer',
      query: z.object({
        ...pageQuery,
        q: z.string().max(255).optional().meta({ description: 'Part of the name.' }),
        owner_id: personOrMe.optional(),
        team_id: uuid.optional(),
        visibility: visibility.optional(),
        sha256: z
          .string()
          .regex(/^[0-9a-f]{64}$/)
          .optional(),
        run_id: uuid.optional().meta({ description: 'Input and output files of this run.' }),
      }),
      responses: { 200: z.array(fileRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listFiles(c.em, c.actor, filter, page),
        );
        return { status: 200, body: items.map(presentFile), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/files/{id}',
      operationId: 'downloadFile',
      headers: ['If-None-Match', 'Range'],
      summary: 'Download a file',
      description:
        'Supports `HEAD` and a single byte `Range`. With `token` (from a link) no access token is needed.',
      tags: TAGS,
      role: 'viewer',
      anonymousToo: true,
      params: idParams,
      query: z.object({
        token: z.string().max(4_000).optional().meta({ description: 'Token from a link to this file.' }),
      }),
      responses: { 200: media({ '*/*': bytes }), 206: media({ '*/*': bytes }), 304: null },
      errors: [410, 416],
      handler: async (c) => sendContent(c.ctx, deps.files, await readableFile(c)),
    }),
    endpoint({
      method: 'GET',
      path: '/files/{id}/metadata',
      operationId: 'getFile',
      summary: "Get a file's metadata",
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: fileRecord },
      handler: async (c) => ({ status: 200, body: presentFile(await getFile(c.em, c.actor, c.params.id)) }),
    }),
    endpoint({
      method: 'PATCH',
      path: '/files/{id}',
      operationId: 'updateFile',
      summary: 'Rename a file, change its visibility, or give it to a team or another person',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'builder',
      params: idParams,
      body: z.object({
        name: name.optional(),
        visibility: visibility.optional(),
        team_id: uuid.nullish(),
        owner_id: newOwner,
      }),
      record: fileRecord,
      responses: { 200: fileRecord },
      handler: async (c) => {
        const file = await getFileForChange(c.em, c.actor, c.params.id);
        const { team_id, owner_id, ...changes } = c.body;
        const object = { ...file, team_id: file.team_id ?? null };
        const to = await destinationOf(c.em, c.actor, object, { team_id, owner_id });
        if (file.attached && (to !== null || changes.visibility === 'public'))
          throw conflict('file_attached', "The file is for a run alone: it stays private, and its owner's.");
        if (to !== null) Object.assign(file, await moveObject(c.em, c.actor, 'file', object, to));
        await updateFile(c.em, file, changes);
        if (to !== null) {
          // In the order of uploads.
          for (const quota of ['stored_bytes', 'files'] as const)
            await checkQuota(c.em, deps.env, quota, to.team ?? file.owner_id, { isMoved: true });
        }
        return { status: 200, body: presentFile(file) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/files/{id}/link',
      operationId: 'createFileLink',
      summary: 'Create a temporary link that downloads a file without a login',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'builder',
      params: idParams,
      body: z.object({
        expires_in: z
          .int()
          .min(1)
          .max(LONGEST_LINK_SECONDS)
          .default(DEFAULT_LINK_SECONDS)
          .meta({ description: 'Lifetime of the link in seconds.' }),
      }),
      // A link is a credential, so the response is not stored for repeats.
      idempotent: false,
      responses: { 200: fileLinkRecord },
      handler: async (c) => {
        const file = await getFileForChange(c.em, c.actor, c.params.id);
        const { url, expires_at } = await createFileLink(links, file.id, c.body.expires_in);
        return {
          status: 200,
          body: { url, expires_at: expires_at.toISOString() },
          headers: { 'Cache-Control': 'no-store' },
        };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/files/{id}',
      operationId: 'deleteFile',
      summary: 'Delete a file',
      tags: TAGS,
      role: 'viewer',
      clientRole: 'builder',
      params: idParams,
      responses: { 204: null },
      errors: [412],
      handler: async (c) => {
        const file = await getFileForChange(c.em, c.actor, c.params.id);
        checkIfMatch(c.ctx, contentTag(file));
        const { id } = file;
        c.audit.note(heldBy(file.team_id));
        await deleteFile(c.em, file);
        c.afterCommit(() => deps.files.remove(id));
        return { status: 204 };
      },
    }),
  ];

  async function readableFile(
    c: EndpointContext<{ id: string }, { token?: string | undefined }>,
  ): Promise<StoredFile> {
    if (c.ctx.query['token'] === undefined) {
      if (c.actor === anonymous) throw unauthorized(c.ctx);
      const file = await getFile(c.em, c.actor, c.params.id);
      // Validate the query before the content is opened: an error after that would leak the stream.
      void c.query;
      return file;
    }
    await checkFileLink(links, c.params.id, c.query.token ?? '');
    return readFile(c.em, c.params.id);
  }
}

/** Stores the file's row and the idempotency key in one transaction. A repeat discards its own bytes. */
async function saveUpload(
  deps: AppDeps,
  c: EndpointContext,
  upload: Upload,
  { purpose, described }: { purpose: Purpose; described: Described },
): Promise<EndpointResponse> {
  const seenBy = visibility.optional().safeParse(described.visibility);
  if (!seenBy.success)
    throw invalid([{ pointer: '/visibility', code: 'invalid_value', message: 'must be private or public' }]);
  const file = {
    owner_id: c.actor.id,
    name: described.name ?? 'file',
    media_type: described.media_type ?? '',
    visibility: seenBy.data,
  };
  const of = purpose.id === undefined ? [] : [purpose.id];
  const fingerprint = Buffer.from(JSON.stringify([upload.sha256, file, ...of]));
  const scope = idempotencyScope(c.ctx, c.actor, fingerprint, (value) => deps.encryption.fingerprint(value));
  const response = await c.em.transactional(async (em): Promise<EndpointResponse> => {
    const first = scope ? await claimKey(em, scope) : null;
    if (first) return first;
    const place = await purpose.place(em);
    const row = await addFile(em, upload, { ...file, ...place }, deps.env);
    await c.audit.write(em, { objectId: row.id, data: { changes: { name: { new: file.name } } } });
    if (!place.attached) await checkQuota(em, deps.env, 'files', place.team_id ?? c.actor.id);
    const created = { status: 201, body: presentFile(row), headers: { Location: `/files/${row.id}` } };
    if (scope) await storeAnswer(em, scope, created);
    return created;
  });
  // A no-op unless this was a repeat, whose bytes were not kept.
  await upload.discard();
  return response;
}
