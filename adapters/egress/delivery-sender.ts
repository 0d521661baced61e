import type { DeliverySender } from '../../domain/ports.ts';
import { Fault } from '../../contracts/fault.ts';
import type { EgressPolicy } from './egress.ts';

/**
 * Sends deliveries under the egress policy: https unless the operator allows the host, no redirects; the
 * response body is ignored.
 */
export function createDeliverySender(egress: EgressPolicy): DeliverySender {
  return {
    async send({ url, headers, body, timeoutMs, signal }) {
      try {
        const answer = await egress.request({
          url,
          method: 'POST',
          headers,
          body,
          timeoutMs,
          signal,
          followRedirects: false,
          plainOnlyAllowed: true,
          ignoreBody: true,
        });
        return { status: answer.status, retry_after_ms: retryAfterMs(answer.headers['retry-after']) };
      } catch (error) {
        if (error instanceof Fault) return { refusal: error.message };
        throw error;
      }
    },
  };
}

/** Seconds or a date (RFC 9110 section 10.2.3). */
function retryAfterMs(header: string | undefined): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}
