/** Bytes in a message's parts go to the file store before the message's transaction; they become files in it, or are discarded. */
import type { A2AMessage, A2APart } from '../../contracts/a2a.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { FileReference } from '../../domain/a2a/input.ts';
import { mediaTypeOf } from '../../domain/a2a/modes.ts';
import { addFile, receiveFile, type Upload } from '../../domain/files/service.ts';
import type { FileStore } from '../../domain/files/ports.ts';

export interface MessageFiles {
  /** With links instead of bytes: what is kept. */
  message: A2AMessage;
  /** As the agent gets the part's file; null for parts that are none. */
  fileOf(part: A2APart): FileReference | null;
  /** In the message's transaction. */
  keep(em: EntityManager, ownerId: string): Promise<void>;
  discard(): Promise<void>;
}

export async function receiveMessageFiles(store: FileStore, baseUrl: string, message: A2AMessage): Promise<MessageFiles> {
  const uploads = new Map<A2APart, Upload>();
  const discard = async (): Promise<void> => {
    for (const upload of uploads.values()) await upload.discard();
  };
  const parts: A2APart[] = [];
  try {
    for (const part of message.parts) {
      if (part.raw === undefined) {
        parts.push(part);
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
      return part.url === undefined ? null : { url: part.url, ...named };
    },
    async keep(em, ownerId) {
      for (const [part, upload] of uploads) await addFile(em, upload, { owner_id: ownerId, name: part.filename ?? 'file', media_type: part.mediaType ?? 'application/octet-stream' });
    },
    discard,
  };
}

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  const size = 256 * 1024;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
