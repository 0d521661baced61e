import { S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { FileStoreUnavailable } from '../../domain/files/ports.ts';

export interface S3Settings {
  /** Default: Amazon's endpoint for the region. */
  endpoint?: string | undefined;
  region: string;
  bucket: string;
  /** Prefix of all keys; the store ignores other objects in the bucket. */
  prefix: string;
  /** Default: the machine's credentials (instance or container role, profile). */
  accessKeyId?: string | undefined;
  secretAccessKey?: string | undefined;
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  pathStyle: boolean;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Downloads proceed at the pace of the reader. */
const SOCKET_TIMEOUT_MS = 5 * 60_000;
const MAX_SOCKETS = 200;
const MAX_ATTEMPTS = 4;
const MISSING_NAMES = new Set(['NoSuchKey', 'NotFound', 'NoSuchUpload']);

/** All its failures but missing objects are `FileStoreUnavailable`. */
export function createS3Client(settings: S3Settings): S3Client {
  const { endpoint, region, accessKeyId, secretAccessKey, pathStyle } = settings;
  const client = new S3Client({
    region,
    forcePathStyle: pathStyle,
    // Other services support the newer checksums only in part. Bodies are whole buffers, so each request is
    // signed with the SHA-256 of its content, and the service rejects a body that differs.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
      httpAgent: { maxSockets: MAX_SOCKETS },
      httpsAgent: { maxSockets: MAX_SOCKETS },
    },
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey } }),
  });
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        throw isMissing(error) ? error : unavailable(error);
      }
    },
    { step: 'initialize', priority: 'high' },
  );
  return client;
}

/** Whether there is no such object or upload. */
export function isMissing(error: unknown): boolean {
  return error instanceof S3ServiceException && MISSING_NAMES.has(error.name);
}

export async function unlessMissing(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

function unavailable(error: unknown): FileStoreUnavailable {
  const name = error instanceof Error ? error.name : '';
  return new FileStoreUnavailable(`the object store failed: ${name}`, { cause: error });
}
