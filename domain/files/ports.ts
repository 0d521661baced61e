/**
 * The stores that hold the contents of files. The rows in `file` are authoritative: a content without a row
 * is swept.
 */
import type { Readable } from 'node:stream';

/** Content that was received and is not a file yet. */
export interface ReceivedFile {
  /** Bytes. */
  size: number;
  /** Lower-case hex. */
  sha256: string;
  /**
   * Makes the content durable under its id. Call it before committing the row, so that no row lacks its
   * content.
   */
  keep(): Promise<void>;
  /** Removes the content. Idempotent, and safe after a failed `keep`. */
  discard(): Promise<void>;
}

export interface FileStore {
  /** Which folder or bucket, for messages. */
  readonly place: string;
  /** The mark that identifies this store (domain/files/store-identity.ts); null for a store without one. */
  readMark(): Promise<string | null>;
  writeMark(mark: string): Promise<void>;
  /**
   * Streams the content to a temporary place, holding at most a chunk in memory. If the source fails or
   * exceeds `maxBytes`, nothing is kept, and the source's error or `FileTooLarge` is thrown.
   */
  receive(id: string, source: AsyncIterable<Uint8Array>, limits: { maxBytes: number }): Promise<ReceivedFile>;
  /** Bytes `start` to `end` inclusive; everything without a range. @throws FileContentMissing */
  open(id: string, range?: ByteRange): Promise<Readable>;
  /** Whether the store seems writable, without writing to it. */
  ping(): Promise<boolean>;
  /** Does nothing if there is no such content. */
  remove(id: string): Promise<void>;
  /**
   * Removes what is older than `before` and unused: partial uploads of dead processes, and contents whose id
   * `known` does not return. @returns how many
   */
  sweep(options: { before: Date; known: (ids: string[]) => Promise<ReadonlySet<string>> }): Promise<number>;
}

export interface ByteRange {
  start: number;
  end: number;
}

/** File name of the mark, next to the contents. */
export const STORE_MARK = 'store-id';

export class FileTooLarge extends Error {}
/** The store is down, full or misconfigured; users cannot fix this. */
export class FileStoreUnavailable extends Error {}
export class FileContentMissing extends Error {}
