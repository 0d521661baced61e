/**
 * Conversion of values to Temporal payloads, the same for clients and workers, and the converter's path for
 * the workflow bundle.
 */
import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { createPayloadCodec, type PayloadCodecOptions } from './payload-codec.ts';

export const failureConverterPath = fileURLToPath(new URL('failure-converter.cjs', import.meta.url));

/** Creates the data converter. Workers use `refusals: 'mark'`; see PayloadCodecOptions. */
export function createDataConverter(options: PayloadCodecOptions): DataConverter {
  return { payloadCodecs: [createPayloadCodec(options)], failureConverterPath };
}
