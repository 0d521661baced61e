import type { Env } from '../../config/env.ts';
import { createLocalFileStore } from './local-file-store.ts';
import type { FileStore } from '../../domain/files/ports.ts';

type Settings = Pick<
  Env,
  | 'FILES_DIR'
  | 'FILES_S3_ENDPOINT'
  | 'FILES_S3_REGION'
  | 'FILES_S3_BUCKET'
  | 'FILES_S3_PREFIX'
  | 'FILES_S3_ACCESS_KEY_ID'
  | 'FILES_S3_SECRET_ACCESS_KEY'
  | 'FILES_S3_PATH_STYLE'
>;

/** The store that the settings select: a bucket if `FILES_S3_BUCKET` is set, else the folder `FILES_DIR`. */
export async function createFileStore(env: Settings): Promise<FileStore> {
  const { FILES_S3_BUCKET: bucket } = env;
  if (bucket === undefined) return createLocalFileStore(env.FILES_DIR);
  // The S3 client is large, so it is loaded only if it is used.
  const { createS3FileStore } = await import('./s3-file-store.ts');
  return createS3FileStore({
    bucket,
    endpoint: env.FILES_S3_ENDPOINT,
    region: env.FILES_S3_REGION,
    prefix: env.FILES_S3_PREFIX,
    accessKeyId: env.FILES_S3_ACCESS_KEY_ID,
    secretAccessKey: env.FILES_S3_SECRET_ACCESS_KEY,
    pathStyle: env.FILES_S3_PATH_STYLE ?? env.FILES_S3_ENDPOINT !== undefined,
  });
}
