import type { EgressRequest, EgressResponse } from './egress.ts';
import { Fault } from '../../contracts/fault.ts';
import { SinkFailure, type Exchange } from './exchange.ts';
import type { FinalAnswer } from './redirects.ts';
import { abandonBody, decodedBody, passOn, readBody } from './response-body.ts';

const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;
const IGNORED_BODY_BYTES = 64 * 1024;
const NO_BYTES = new Uint8Array(0);

/** Reads the body as the request wants it: not at all, through the caller's own sink, or whole. */
export async function readAnswer(
  { status, headers, url, method, body }: FinalAnswer,
  request: EgressRequest,
  { signal, failureOf }: Exchange,
): Promise<EgressResponse> {
  const head = { status, headers, url };
  if (request.ignoreBody === true) {
    // A slow or broken body does not change the status.
    await body.dump({ limit: IGNORED_BODY_BYTES, signal }).catch(() => undefined);
    return { ...head, bytes: NO_BYTES };
  }
  const sink = request.take?.(head);
  if (sink) {
    try {
      await sink(passOn(decodedBody(body, headers), failureOf));
    } catch (error) {
      // A failure of the connection is a Fault already; any other error comes from the sink.
      throw error instanceof Fault ? error : new SinkFailure(error);
    } finally {
      abandonBody(body);
    }
    return { ...head, bytes: NO_BYTES };
  }
  const maxBytes = request.maxBytes ?? MAX_RESPONSE_BYTES;
  return { ...head, bytes: await readBody(body, { headers, method, maxBytes, signal }) };
}
