import { Fault, fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';

/** Members of a JSON object that say since when. */
const SINCE = ['since', 'timestamp', 'last_seen'] as const;
/** The year 2000 in milliseconds; smaller numbers are seconds. */
const FIRST_MS = 946_684_800_000;

/**
 * What a message on the availability topic says: `offline` or `online`, as a text, a JSON text, or the
 * `state` or `status` of a JSON object. @returns the fault if the device is away, null otherwise
 */
export function awayFault(payload: Uint8Array, retained: boolean, now = new Date()): Fault | null {
  const text = Buffer.from(payload).toString('utf8').trim();
  const json = parsed(text);
  const said = isRecord(json) ? (json['state'] ?? json['status']) : (json ?? text);
  if (typeof said !== 'string' || said.trim().toLowerCase() !== 'offline') return null;
  const since = sinceIn(json) ?? (retained ? null : now);
  const when = since === null ? '; its last will does not say since when' : ` since ${since.toISOString()}`;
  return fault('communication', `The device is away${when}`, { status: 503 });
}

function sinceIn(json: unknown): Date | null {
  if (!isRecord(json)) return null;
  const value = SINCE.map((key) => json[key]).find(
    (one) => typeof one === 'string' || typeof one === 'number',
  );
  if (value === undefined) return null;
  const at = new Date(typeof value === 'number' && value < FIRST_MS ? value * 1_000 : value);
  return Number.isNaN(at.getTime()) ? null : at;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
