/**
 * Stores the bytes in a message's parts before the message's transaction. The transaction then records them
 * as files, or they are discarded.
 */
import type { A2AMessage, A2APart } from '../../contracts/a2a/objects.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { mediaTypeOf } from '../../contracts/a2a/modes.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';
import type { StoredFile } from '../../db/entities/stored-file.ts';
import { addFile, getFile, receiveFile, type Upload } from '../../domain/files/service.ts';
import type { FileStore } from '../../domain/files/ports.ts';
import type { FileReference } from '../../domain/ports.ts';
import type { QuotaEnv } from '../../domain/quotas/settings.ts';

export interface MessageFiles {
  /** The message to store, with links in place of bytes. */
  message: A2AMessage;
  /** The part's file as the agent's input refers to it; null for parts that are not files. */
  fileOf(part: A2APart): FileReference | null;
  /** Call in the message's transaction, after the run is created. */
  keep(em: EntityManager, run: { id: string; owner_id: string }): Promise<void>;
  discard(): Promise<void>;
}

export interface MessageFilesDeps {
  store: FileStore;
  em: EntityManager;
  actor: Actor;
  /** Without a trailing slash. */
  baseUrl: string;
  limits: QuotaEnv;
}

export async function receiveMessageFiles(
  deps: MessageFilesDeps,
  message: A2AMessage,
): Promise<MessageFiles> {
  const uploads = new Map<A2APart, Upload>();
  const ownFiles = new Map<A2APart, StoredFile>();
  const discard = async (): Promise<void> => {
    for (const upload of uploads.values()) await upload.discard();
  };
  const parts: A2APart[] = [];
  try {
    for (const part of message.parts) {
      if (part.raw === undefined) {
        const { part: shown, file } = await withOwnFile(deps, part);
        if (file) ownFiles.set(shown, file);
        parts.push(shown);
      } else {
        const { part: shown, upload } = await withUpload(deps, part, part.raw);
        uploads.set(shown, upload);
        parts.push(shown);
      }
    }
  } catch (error) {
    await discard();
    throw error;
  }
  return {
    message: { ...message, parts },
    fileOf: (part) => referenceTo(part, uploads.get(part), ownFiles.get(part)),
    async keep(em, { id: run_id, owner_id }) {
      for (const [part, upload] of uploads)
        await addFile(
          em,
          upload,
          {
            owner_id,
            run_id,
            name: part.filename ?? 'file',
            media_type: part.mediaType ?? 'application/octet-stream',
          },
          deps.limits,
        );
    },
    discard,
  };
}

/** A part with bytes becomes a link to their upload. */
async function withUpload(
  { store, baseUrl }: MessageFilesDeps,
  sent: A2APart,
  base64: string,
): Promise<{ part: A2APart; upload: Upload }> {
  const { raw: _, ...part } = sent;
  const upload = await receiveFile(store, chunks(Buffer.from(base64, 'base64')));
  const url = `${baseUrl}/files/${upload.id}`;
  return { part: { ...part, url, mediaType: mediaTypeOf(part) }, upload };
}

/** A part that links a file of this server has the file's media type, unless it names another. */
async function withOwnFile(
  { em, actor, baseUrl }: MessageFilesDeps,
  part: A2APart,
): Promise<{ part: A2APart; file: StoredFile | null }> {
  const file = part.url === undefined ? null : await ownFile(em, actor, baseUrl, part.url);
  return { part: file && !part.mediaType ? { ...part, mediaType: file.media_type } : part, file };
}

function referenceTo(
  part: A2APart,
  upload: Upload | undefined,
  file: StoredFile | undefined,
): FileReference | null {
  const named = {
    ...(part.filename ? { name: part.filename } : {}),
    ...(part.mediaType ? { media_type: part.mediaType } : {}),
  };
  if (upload) return { file_id: upload.id, ...named, size: upload.size, sha256: upload.sha256 };
  if (!file) return part.url === undefined ? null : { url: part.url, ...named };
  const { id: file_id, name, media_type, size, sha256 } = file;
  return { file_id, name, media_type, ...named, size, sha256 };
}

/**
 * The stored file that a link on this server points to, if the caller may read it. Such links are not
 * fetched, so their token may have expired.
 */
async function ownFile(
  em: EntityManager,
  actor: Actor,
  baseUrl: string,
  url: string,
): Promise<StoredFile | null> {
  const id = url.startsWith(`${baseUrl}/`)
    ? /^(?:\/api\/v1)?\/files\/([0-9a-f-]{36})(?:[?#]|$)/.exec(url.slice(baseUrl.length))?.[1]
    : undefined;
  if (id === undefined || !isUuid(id)) return null;
  return getFile(em, actor, id).catch((error: unknown) => {
    if (error instanceof AppError) return null;
    throw error;
  });
}

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  const size = 256 * 1024;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
