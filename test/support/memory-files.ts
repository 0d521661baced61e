/** The files of a run, in memory. */
import { createHash, randomUUID } from 'node:crypto';
import type { CallFiles } from '../../domain/ports.ts';

export interface MemoryFiles extends CallFiles {
  /** By id. */
  contents: Map<string, { name: string; media_type: string; bytes: Buffer }>;
  /** @returns a reference to a file of this content */
  add(bytes: Buffer, file: { name: string; media_type: string }): { file_id: string };
}

export function memoryFiles(): MemoryFiles {
  const contents: MemoryFiles['contents'] = new Map();
  return {
    contents,
    add(bytes, file) {
      const file_id = randomUUID();
      contents.set(file_id, { ...file, bytes });
      return { file_id };
    },
    async store(content, file) {
      const chunks: Uint8Array[] = [];
      if (content instanceof Uint8Array) chunks.push(content);
      else for await (const chunk of content) chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      const file_id = randomUUID();
      contents.set(file_id, { ...file, bytes });
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { file_id, ...file, size: bytes.length, sha256 };
    },
    read: async (id) => contents.get(id) ?? null,
    async open(id) {
      const file = contents.get(id);
      if (file === undefined) return null;
      const { name, media_type, bytes } = file;
      return { name, media_type, size: bytes.length, chunks: async () => inPieces(bytes) };
    },
    discard: async (id) => void contents.delete(id),
    link: async () => null,
  };
}

/** As a store gives it, in pieces that end anywhere. */
async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  const size = 65_537;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
