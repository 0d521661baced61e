/** PostgreSQL's indexes hold entries of 2,704 bytes. */
const MAX_INDEXED_BYTES = 2_500;

/** Why an event cannot be stored for listeners; null if it can. */
export function identityProblem(event: {
  id: string;
  source: string;
  type: string;
}): { attribute: 'id' | 'type'; message: string } | null {
  if (Buffer.byteLength(event.source) + Buffer.byteLength(event.id) > MAX_INDEXED_BYTES)
    return { attribute: 'id', message: `has more than ${MAX_INDEXED_BYTES} bytes together with "source"` };
  if (Buffer.byteLength(event.type) > MAX_INDEXED_BYTES)
    return { attribute: 'type', message: `has more than ${MAX_INDEXED_BYTES} bytes` };
  return null;
}
