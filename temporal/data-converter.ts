/** How values become Temporal's payloads; the same for client and worker, and the path for the workflows' bundle. */
import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { createPayloadCodec, type PayloadCodecOptions } from './payload-codec.ts';

export const failureConverterPath = fileURLToPath(new URL('failure-converter.cjs', import.meta.url));

export function createDataConverter(options: PayloadCodecOptions): DataConverter {
  return { payloadCodecs: [createPayloadCodec(options)], failureConverterPath };
}
