/**
 * The file store in a bucket of an S3-compatible service. An object is there whole or not at all: small contents are one request,
 * larger ones a multipart upload that nobody sees before it is completed.
 */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand, CompleteMultipartUploadCommand, CreateMultipartUploadCommand, DeleteObjectCommand, GetObjectCommand, HeadBucketCommand,
  ListMultipartUploadsCommand, ListObjectsV2Command, PutObjectCommand, S3Client, S3ServiceException, UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { CompletedPart } from '@aws-sdk/client-s3';

import { FileContentMissing, FileStoreUnavailable, FileTooLarge, type FileStore } from './ports.ts';

export interface S3Settings {
  /** Without one: Amazon's, by the region. */
  endpoint?: string | undefined;
  region: string;
  bucket: string;
  /** Before each key; the store looks at nothing else in the bucket. */
  prefix: string;
  /** Without them: what the machine gives (instance or container role, profile). */
  accessKeyId?: string | undefined;
  secretAccessKey?: string | undefined;
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  pathStyle: boolean;
}

/** Held in memory for each upload, about twice while it is sent. The least that a part may have. */
const PART_BYTES = 5 * 1024 * 1024;
const CONNECT_MS = 5_000;
/** Downloads go at the pace of who reads. */
const SILENCE_MS = 5 * 60_000;
const MAX_SOCKETS = 200;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const MISSING = new Set(['NoSuchKey', 'NotFound', 'NoSuchUpload']);

/** Files as objects `<prefix><id>`. Nothing is asked of the service before the first use. */
export function createS3FileStore(settings: S3Settings): FileStore & { close(): void } {
  const { bucket: Bucket, prefix } = settings;
  const client = new S3Client({
    region: settings.region,
    forcePathStyle: settings.pathStyle,
    // Services other than Amazon's know the newer checksums in part only. Bodies are whole buffers, so each request is signed with the
    // SHA-256 of its content, and the service refuses any other.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 4,
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS, httpAgent: { maxSockets: MAX_SOCKETS }, httpsAgent: { maxSockets: MAX_SOCKETS } },
    ...(settings.endpoint === undefined ? {} : { endpoint: settings.endpoint }),
    ...(settings.accessKeyId === undefined || settings.secretAccessKey === undefined ? {} : { credentials: { accessKeyId: settings.accessKeyId, secretAccessKey: settings.secretAccessKey } }),
  });
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        throw isMissing(error) ? error : new FileStoreUnavailable(`the object store failed: ${error instanceof Error ? error.name : ''}`, { cause: error });
      }
    },
    { step: 'initialize', priority: 'high' },
  );
  const keyOf = (id: string): string => {
    if (!ID.test(id)) throw new Error(`"${id}" is not the id of a file`);
    return prefix + id;
  };

  return {
    async receive(id, source, { maxBytes }) {
      const target = { Bucket, Key: keyOf(id) };
      const hash = createHash('sha256');
      const parts: CompletedPart[] = [];
      let uploadId: string | null = null;
      let size = 0;
      const sendPart = async (body: Buffer): Promise<void> => {
        uploadId ??= (await client.send(new CreateMultipartUploadCommand(target))).UploadId ?? null;
        if (uploadId === null) throw new Error('the object store began no upload');
        const number = parts.length + 1;
        const { ETag } = await client.send(new UploadPartCommand({ ...target, UploadId: uploadId, PartNumber: number, Body: body }));
        parts.push({ PartNumber: number, ETag });
      };
      const abort = async (): Promise<void> => {
        const id = uploadId;
        uploadId = null;
        if (id !== null) await unlessMissing(client.send(new AbortMultipartUploadCommand({ ...target, UploadId: id })));
      };
      let rest: Buffer;
      try {
        const pending = new Pending();
        for await (const chunk of source) {
          size += chunk.length;
          if (size > maxBytes) throw new FileTooLarge(`larger than ${maxBytes} bytes`);
          hash.update(chunk);
          pending.add(chunk);
          while (pending.size > PART_BYTES) await sendPart(pending.take(PART_BYTES));
        }
        rest = pending.take(pending.size);
        if (uploadId !== null) await sendPart(rest);
      } catch (error) {
        await abort().catch(() => undefined); // the sweep ends it
        throw error;
      }
      return {
        size,
        sha256: hash.digest('hex'),
        async keep() {
          if (uploadId === null) await client.send(new PutObjectCommand({ ...target, Body: rest }));
          else await client.send(new CompleteMultipartUploadCommand({ ...target, UploadId: uploadId, MultipartUpload: { Parts: parts } }));
          uploadId = null;
        },
        discard: abort,
      };
    },
    async open(id, range) {
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: keyOf(id), ...(range ? { Range: `bytes=${range.start}-${range.end}` } : {}) }));
        // On Node the body is its own stream.
        return Body as Readable;
      } catch (error) {
        if (!isMissing(error)) throw error;
        throw new FileContentMissing(`the content of file ${id} is gone`, { cause: error });
      }
    },
    ping: () =>
      client.send(new HeadBucketCommand({ Bucket })).then(
        () => true,
        () => false,
      ),
    async remove(id) {
      await unlessMissing(client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(id) })));
    },
    async sweep({ before, known }) {
      return (await sweepUploads(client, settings, before)) + (await sweepObjects(client, settings, before, known));
    },
    close: () => client.destroy(),
  };
}

/** Chunks that are not sent yet. */
class Pending {
  size = 0;
  #chunks: Uint8Array[] = [];

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.size += chunk.length;
  }

  take(bytes: number): Buffer {
    const all = Buffer.concat(this.#chunks);
    const taken = all.subarray(0, bytes);
    this.#chunks = bytes < all.length ? [all.subarray(bytes)] : [];
    this.size = all.length - taken.length;
    return taken;
  }
}

/** Uploads that died with their process. */
async function sweepUploads(client: S3Client, { bucket: Bucket, prefix: Prefix }: S3Settings, before: Date): Promise<number> {
  let removed = 0;
  let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {};
  for (;;) {
    const page = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix, ...marker }));
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      if (!Key || !UploadId || !ID.test(Key.slice(Prefix.length)) || !Initiated || Initiated >= before) continue;
      await unlessMissing(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })));
      removed++;
    }
    if (page.IsTruncated !== true || !page.NextKeyMarker) return removed;
    marker = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}

async function sweepObjects(client: S3Client, { bucket: Bucket, prefix: Prefix }: S3Settings, before: Date, known: (ids: string[]) => Promise<ReadonlySet<string>>): Promise<number> {
  let removed = 0;
  let token: string | undefined;
  do {
    const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix, ...(token === undefined ? {} : { ContinuationToken: token }) }));
    const old = (page.Contents ?? []).flatMap(({ Key, LastModified }) => {
      const id = Key?.slice(Prefix.length) ?? '';
      return ID.test(id) && LastModified && LastModified < before ? [id] : [];
    });
    const belonging = old.length > 0 ? await known(old) : new Set<string>();
    for (const id of old) {
      if (belonging.has(id)) continue;
      await unlessMissing(client.send(new DeleteObjectCommand({ Bucket, Key: Prefix + id })));
      removed++;
    }
    token = page.NextContinuationToken;
  } while (token !== undefined);
  return removed;
}

async function unlessMissing(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}

function isMissing(error: unknown): boolean {
  return error instanceof S3ServiceException && MISSING.has(error.name);
}
