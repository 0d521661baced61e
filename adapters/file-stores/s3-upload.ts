import { createHash } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
  type CompletedPart,
  type S3Client,
} from '@aws-sdk/client-s3';
import { FileTooLarge, type ReceivedFile } from '../../domain/files/ports.ts';
import { unlessMissing } from './s3-client.ts';

/** The smallest allowed part. Each upload buffers one part, and about two while a part is sent. */
const PART_BYTES = 5 * 1024 * 1024;

/**
 * A content on its way to an object, which does not exist before `keep`: content of one part is sent then,
 * larger content is a multipart upload, which is invisible until it completes.
 */
export class S3Upload {
  readonly #client: S3Client;
  readonly #target: { Bucket: string; Key: string };
  readonly #hash = createHash('sha256');
  readonly #parts: CompletedPart[] = [];
  readonly #pending = new PendingBytes();
  #uploadId: string | null = null;
  /** The last part, if the upload has several; else the whole content. */
  #rest: Buffer = Buffer.alloc(0);
  #size = 0;

  constructor(client: S3Client, target: { Bucket: string; Key: string }) {
    this.#client = client;
    this.#target = target;
  }

  /** Reads the whole source, and sends each full part. Nothing is left after an error. */
  async receive(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<ReceivedFile> {
    try {
      for await (const chunk of source) {
        this.#size += chunk.length;
        if (this.#size > maxBytes) throw new FileTooLarge(`larger than ${maxBytes} bytes`);
        this.#hash.update(chunk);
        this.#pending.add(chunk);
        while (this.#pending.size > PART_BYTES) await this.#sendPart(this.#pending.take(PART_BYTES));
      }
      this.#rest = this.#pending.take(this.#pending.size);
      if (this.#uploadId !== null) await this.#sendPart(this.#rest);
    } catch (error) {
      await this.#discard().catch(() => undefined); // the sweep ends it
      throw error;
    }
    return {
      size: this.#size,
      sha256: this.#hash.digest('hex'),
      keep: () => this.#keep(),
      discard: () => this.#discard(),
    };
  }

  async #keep(): Promise<void> {
    if (this.#uploadId === null)
      await this.#client.send(new PutObjectCommand({ ...this.#target, Body: this.#rest }));
    else
      await this.#client.send(
        new CompleteMultipartUploadCommand({
          ...this.#target,
          UploadId: this.#uploadId,
          MultipartUpload: { Parts: this.#parts },
        }),
      );
    this.#uploadId = null;
  }

  async #discard(): Promise<void> {
    const UploadId = this.#uploadId;
    this.#uploadId = null;
    if (UploadId === null) return;
    await unlessMissing(this.#client.send(new AbortMultipartUploadCommand({ ...this.#target, UploadId })));
  }

  async #sendPart(body: Buffer): Promise<void> {
    this.#uploadId ??= await this.#begin();
    const PartNumber = this.#parts.length + 1;
    const { ETag } = await this.#client.send(
      new UploadPartCommand({ ...this.#target, UploadId: this.#uploadId, PartNumber, Body: body }),
    );
    this.#parts.push({ PartNumber, ETag });
  }

  async #begin(): Promise<string> {
    const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand(this.#target));
    if (UploadId === undefined) throw new Error('the object store returned no upload id');
    return UploadId;
  }
}

/** Chunks that have not been sent yet. */
class PendingBytes {
  #chunks: Uint8Array[] = [];
  size = 0;

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
