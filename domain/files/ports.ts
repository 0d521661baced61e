/** Where the bytes of files are. The rows in `file` say what exists: what no row names is swept. */
import type { Readable } from 'node:stream';

export interface ReceivedFile {
  /** Bytes. */
  size: number;
  /** Lower-case hex. */
  sha256: string;
  /** Makes it durable under its id. Call it before the commit of its row, so that a row never lacks its bytes. */
  keep(): Promise<void>;
  /** Removes what was received. Harmless after `keep` has failed, and twice. */
  discard(): Promise<void>;
}

export interface FileStore {
  /**
   * Streams bytes to a place of their own, never holding more than a chunk. If the source fails or is larger than
   * `maxBytes`, nothing stays, and the source's error or `FileTooLarge` is thrown.
   */
  receive(id: string, source: AsyncIterable<Uint8Array>, limits: { maxBytes: number }): Promise<ReceivedFile>;
  /** Bytes `start` to `end`, both included; all without a range. @throws FileContentMissing */
  open(id: string, range?: ByteRange): Promise<Readable>;
  /** Whether it can be written to, as far as that shows without writing. */
  ping(): Promise<boolean>;
  /** Harmless if there is nothing. */
  remove(id: string): Promise<void>;
  /**
   * Removes what is older than `before` and belongs to nothing: halves of uploads that died, and contents whose id `known`
   * does not give back. @returns how many.
   */
  sweep(options: { before: Date; known: (ids: string[]) => Promise<ReadonlySet<string>> }): Promise<number>;
}

export interface ByteRange {
  start: number;
  end: number;
}

export class FileTooLarge extends Error {}
/** The store is away, full or misconfigured: not for the user to mend. */
export class FileStoreUnavailable extends Error {}
export class FileContentMissing extends Error {}
