/** Removes from a bucket old objects and uploads that no file refers to. */
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import { isLowercaseUuid } from '../../contracts/uuid.ts';
import type { FileStore } from '../../domain/files/ports.ts';
import { unlessMissing, type S3Settings } from './s3-client.ts';

type Place = Pick<S3Settings, 'bucket' | 'prefix'>;

/** As `FileStore.sweep`. @returns how many objects and uploads */
export async function sweepBucket(
  client: S3Client,
  place: Place,
  { before, known }: Parameters<FileStore['sweep']>[0],
): Promise<number> {
  const uploads = await sweepUploads(client, place, before);
  return uploads + (await sweepObjects(client, place, before, known));
}

/** Aborts uploads whose process died. */
async function sweepUploads(
  client: S3Client,
  { bucket: Bucket, prefix: Prefix }: Place,
  before: Date,
): Promise<number> {
  let removed = 0;
  let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {};
  for (;;) {
    const page = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix, ...marker }));
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      const isOurs = isLowercaseUuid(Key?.slice(Prefix.length) ?? '');
      if (!isOurs || !UploadId || !Initiated || Initiated >= before) continue;
      await unlessMissing(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })));
      removed++;
    }
    if (page.IsTruncated !== true || !page.NextKeyMarker) return removed;
    marker = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}

/** Removes objects older than `before` that no file refers to. */
async function sweepObjects(
  client: S3Client,
  { bucket: Bucket, prefix: Prefix }: Place,
  before: Date,
  known: (ids: string[]) => Promise<ReadonlySet<string>>,
): Promise<number> {
  let removed = 0;
  let token: string | undefined;
  do {
    const page = await client.send(
      new ListObjectsV2Command({
        Bucket,
        Prefix,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }),
    );
    const old = (page.Contents ?? []).flatMap(({ Key, LastModified }) => {
      const id = Key?.slice(Prefix.length) ?? '';
      return isLowercaseUuid(id) && LastModified && LastModified < before ? [id] : [];
    });
    const knownIds = old.length > 0 ? await known(old) : new Set<string>();
    for (const id of old) {
      if (knownIds.has(id)) continue;
      await unlessMissing(client.send(new DeleteObjectCommand({ Bucket, Key: Prefix + id })));
      removed++;
    }
    token = page.NextContinuationToken;
  } while (token !== undefined);
  return removed;
}
