/** Images, sound and files in the messages of a chat, stored before the run that they are for. */
import { isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';
import type { FileStore } from '../../domain/files/ports.ts';
import { addFile, getFile, receiveFile, type Upload } from '../../domain/files/service.ts';
import type { FileReference } from '../../domain/ports.ts';
import type { QuotaEnv } from '../../domain/quotas/settings.ts';
import { badParameter } from './errors.ts';
import { MAX_FILES, type ChatMessage, type ChatPart } from './request.ts';

const CHUNK_BYTES = 256 * 1024;
/** The data of `data:image/png;base64,…`. */
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*;base64,/i;

export interface ChatFiles {
  references: FileReference[];
  /** Call in the run's transaction, after the run is created. */
  keep(em: EntityManager, runId: string): Promise<void>;
  discard(): Promise<void>;
}

interface Deps {
  store: FileStore;
  em: EntityManager;
  actor: Actor;
  limits: QuotaEnv;
}

interface Stored {
  upload: Upload;
  name: string;
  media_type: string;
}

/** @throws 422, as `badParameter`, for a part that cannot be read */
export async function receiveChatFiles(deps: Deps, messages: readonly ChatMessage[]): Promise<ChatFiles> {
  const stored: Stored[] = [];
  const references: FileReference[] = [];
  const discard = async (): Promise<void> => {
    for (const { upload } of stored) await upload.discard();
  };
  try {
    for (const { part, where } of filesIn(messages)) {
      if (references.length >= MAX_FILES)
        throw badParameter(where, `A chat may have at most ${MAX_FILES} files.`, 'too_many_files');
      references.push(await referenceTo(deps, part, where, stored));
    }
  } catch (error) {
    await discard();
    throw error;
  }
  return {
    references,
    discard,
    async keep(em, run_id) {
      for (const { upload, name, media_type } of stored)
        await addFile(em, upload, { owner_id: deps.actor.id, run_id, name, media_type }, deps.limits);
    },
  };
}

type FilePart = Exclude<ChatPart, { type: 'text' } | { type: 'refusal' }>;

function filesIn(messages: readonly ChatMessage[]): { part: FilePart; where: string }[] {
  return messages.flatMap(({ content }, index) =>
    Array.isArray(content)
      ? content.flatMap((part, at) =>
          part.type === 'text' || part.type === 'refusal'
            ? []
            : [{ part, where: `messages[${index}].content[${at}]` }],
        )
      : [],
  );
}

async function referenceTo(
  deps: Deps,
  part: FilePart,
  where: string,
  stored: Stored[],
): Promise<FileReference> {
  switch (part.type) {
    case 'image_url': {
      const { url } = part.image_url;
      if (/^https?:\/\//i.test(url)) return { url };
      return store(deps, stored, dataOf(url, `${where}.image_url.url`), 'image', 'image/png');
    }
    case 'input_audio': {
      const { data, format } = part.input_audio;
      const type = format === 'wav' ? 'audio/wav' : 'audio/mpeg';
      const bytes = base64Of(data, `${where}.input_audio.data`);
      return store(deps, stored, { bytes, type }, `audio.${format}`, type);
    }
    case 'file': {
      const { file_data: data, file_id: id, filename } = part.file;
      if (typeof id === 'string') return ownFile(deps, id, `${where}.file.file_id`);
      const content = dataOf(data ?? '', `${where}.file.file_data`);
      return store(deps, stored, content, filename ?? 'file', 'application/octet-stream');
    }
  }
}

interface Content {
  bytes: Buffer;
  type: string | null;
}

function dataOf(url: string, where: string): Content {
  const head = DATA_URL.exec(url.slice(0, 1_000));
  if (head === null)
    throw badParameter(where, 'It must be a data URL: data:<media type>;base64,<content>.', 'invalid_base64');
  return { bytes: base64Of(url.slice(head[0].length), where), type: head[1]?.toLowerCase() ?? null };
}

function base64Of(text: string, where: string): Buffer {
  if (text === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(text))
    throw badParameter(where, 'The content must be base64.', 'invalid_base64');
  return Buffer.from(text, 'base64');
}

async function store(
  deps: Deps,
  stored: Stored[],
  { bytes, type }: Content,
  name: string,
  defaultType: string,
): Promise<FileReference> {
  const upload = await receiveFile(deps.store, chunks(bytes));
  const media_type = type ?? defaultType;
  stored.push({ upload, name, media_type });
  return { file_id: upload.id, name, media_type, size: upload.size, sha256: upload.sha256 };
}

async function ownFile({ em, actor }: Deps, id: string, where: string): Promise<FileReference> {
  const found = isUuid(id)
    ? await getFile(em, actor, id).catch((error: unknown) => {
        if (error instanceof AppError) return null;
        throw error;
      })
    : null;
  if (found === null) throw badParameter(where, `There is no file ${id.slice(0, 100)}.`, 'invalid_file');
  const { name, media_type, size, sha256 } = found;
  return { file_id: found.id, name, media_type, size, sha256 };
}

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
