import type { File as StoredFile, Operations } from '../../../client/index.ts';
import { client } from './api.ts';

interface UploadOptions {
  /** What it is for, beside its name. */
  query?: Operations['uploadFile']['query'];
  signal?: AbortSignal;
}

/** Uploads a file that was chosen, under its own name. @throws ApiError */
export function uploadFile(file: File, { query, signal }: UploadOptions = {}): Promise<StoredFile> {
  return client.call('uploadFile', {
    query: { name: file.name, ...query },
    body: new Blob([file], { type: mediaTypeOf(file) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** A browser that does not know the type leaves it empty. */
export function mediaTypeOf(file: File): string {
  return file.type || 'application/octet-stream';
}
