/** Bytes in a message's parts go to the file store before the message's transaction; they become files in it, or are discarded. */
import type { A2AMessage, A2APart } from '../../contracts/a2a.ts';
import type { EntityManager } from '../../db/orm.ts';
import { mediaTypeOf } from '../../domain/a2a/modes.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';
import type { StoredFile } from '../../db/entities/stored-file.ts';
import { addFile, getFile, receiveFile, type Upload } from '../../domain/files/service.ts';
import type { FileStore } from '../../domain/files/ports.ts';
import type { FileReference } from '../../domain/ports.ts';

export interface MessageFiles {
  /** With links instead of bytes: what is kept. */
  message: A2AMessage;
  /** As the agent gets the part's file; null for parts that are none. */
  fileOf(part: A2APart): FileReference | null;
  /** In the message's transaction, after its run is made. */
  keep(em: EntityManager, run: { id: string; owner_id: string }): Promise<void>;
  discard(): Promise<void>;
}

export interface MessageFilesDeps {
  store: FileStore;
  em: EntityManager;
  actor: Actor;
  /** Without a slash at the end. */
  baseUrl: string;
}

export async function receiveMessageFiles({ store, em: reading, actor, baseUrl }: MessageFilesDeps, message: A2AMessage): Promise<MessageFiles> {
  const uploads = new Map<A2APart, Upload>();
  const own = new Map<A2APart, StoredFile>();
  const discard = async (): Promise<void> => {
    for (const upload of uploads.values()) await upload.discard();
  };
  const parts: A2APart[] = [];
  try {
    for (const part of message.parts) {
      if (part.raw === undefined) {
        const file = part.url === undefined ? null : await ownFile(reading, actor, baseUrl, part.url);
        const shown = file && !part.mediaType ? { ...part, mediaType: file.media_type } : part;
        if (file) own.set(shown, file);
        parts.push(shown);
        continue;
      }
      const { raw, ...rest } = part;
      const upload = await receiveFile(store, chunks(Buffer.from(raw, 'base64')));
      const kept: A2APart = { ...rest, url: `${baseUrl}/files/${upload.id}`, mediaType: mediaTypeOf(part) };
      uploads.set(kept, upload);
      parts.push(kept);
    }
  } catch (error) {
    await discard();
    throw error;
  }
  return {
    message: { ...message, parts },
    fileOf(part) {
      const named = { ...(part.filename ? { name: part.filename } : {}), ...(part.mediaType ? { media_type: part.mediaType } : {}) };
      const upload = uploads.get(part);
      if (upload) return { file_id: upload.id, ...named, size: upload.size, sha256: upload.sha256 };
      const file = own.get(part);
      if (file) return { file_id: file.id, name: file.name, media_type: file.media_type, ...named, size: file.size, sha256: file.sha256 };
      return part.url === undefined ? null : { url: part.url, ...named };
    },
    async keep(em, { id: run_id, owner_id }) {
      for (const [part, upload] of uploads) await addFile(em, upload, { owner_id, run_id, name: part.filename ?? 'file', media_type: part.mediaType ?? 'application/octet-stream' });
    },
    discard,
  };
}

/** A link to a file of ours that the caller may read, however long its token holds: nothing is to be fetched. */
async function ownFile(em: EntityManager, actor: Actor, baseUrl: string, url: string): Promise<StoredFile | null> {
  const id = url.startsWith(`${baseUrl}/`) ? /^(?:\/api\/v1)?\/files\/([0-9a-f-]{36})(?:[?#]|$)/.exec(url.slice(baseUrl.length))?.[1] : undefined;
  if (id === undefined) return null;
  return getFile(em, actor, id).catch((error: unknown) => {
    if (error instanceof AppError) return null;
    throw error;
  });
}

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  const size = 256 * 1024;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
