/** The file store in a bucket of an S3-compatible service. An object exists completely or not at all. */
import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { isLowercaseUuid } from '../../contracts/uuid.ts';
import { FileContentMissing, STORE_MARK, type FileStore } from '../../domain/files/ports.ts';
import { createS3Client, isMissing, unlessMissing, type S3Settings } from './s3-client.ts';
import { sweepBucket } from './s3-sweep.ts';
import { S3Upload } from './s3-upload.ts';

/** Stores files as objects `<prefix><id>`. The service is not contacted before the first use. */
export function createS3FileStore(settings: S3Settings): FileStore & { close(): void } {
  const { bucket: Bucket, prefix } = settings;
  const client = createS3Client(settings);
  const objectOf = (id: string): { Bucket: string; Key: string } => {
    if (!isLowercaseUuid(id)) throw new Error(`"${id}" is not the id of a file`);
    return { Bucket, Key: prefix + id };
  };
  const mark = { Bucket, Key: prefix + STORE_MARK };

  return {
    place: `the bucket ${Bucket} under ${prefix}`,
    async readMark() {
      try {
        const { Body } = await client.send(new GetObjectCommand(mark));
        return (await Body?.transformToString())?.trim() || null;
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    async writeMark(content) {
      await client.send(new PutObjectCommand({ ...mark, Body: Buffer.from(`${content}\n`) }));
    },
    receive: async (id, source, { maxBytes }) => new S3Upload(client, objectOf(id)).receive(source, maxBytes),
    async open(id, range) {
      const Range = range && { Range: `bytes=${range.start}-${range.end}` };
      try {
        const { Body } = await client.send(new GetObjectCommand({ ...objectOf(id), ...Range }));
        // The assertion holds: on Node the body is a Readable.
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
      await unlessMissing(client.send(new DeleteObjectCommand(objectOf(id))));
    },
    sweep: (options) => sweepBucket(client, settings, options),
    close: () => client.destroy(),
  };
}
