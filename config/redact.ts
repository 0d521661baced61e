/** Removing secrets from what is logged: by key, and inside of text. */
const removed = '[redacted]';
const maxDepth = 12;

const secretKey = /^(x_)?(passwd|authorization|proxy_authorization|cookie|set_cookie|encryption_keys)$|(^|_)(api_?key|access_?key|token|secret|password|password_hash|private_key|credentials)$/;

/** Whether values under this key are secret: whole key, any case, `-` as `_`, camelCase as snake_case. */
export function isSecretKey(key: string): boolean {
  return secretKey.test(key.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll('-', '_').toLowerCase());
}

/** Replaces credentials inside of text: `Bearer …` and `Basic …` values, and passwords in URLs. */
export function redactText(text: string): string {
  return text
    .replace(/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${removed}`)
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*):[^\s/@]+@/gi, `$1:${removed}@`);
}

/** A copy of a value fit for a log: secrets replaced, errors as plain objects, cycles and great depth cut. */
export function redact(value: unknown, key = '', ancestors: readonly object[] = []): unknown {
  if (value !== undefined && value !== null && isSecretKey(key)) return removed;
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (ancestors.includes(value)) return '[circular]';
  if (ancestors.length >= maxDepth) return '[too deep]';
  const path = [...ancestors, value];
  if (Array.isArray(value)) return value.map((item) => redact(item, '', path));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map || value instanceof Set) return redact([...value], '', path);
  const fields = Object.entries(value).map(([name, field]) => [name, redact(field, name, path)]);
  if (!(value instanceof Error)) return Object.fromEntries(fields);
  return {
    type: value.name,
    message: redactText(value.message),
    stack: redactText(value.stack ?? ''),
    ...(value.cause === undefined ? {} : { cause: redact(value.cause, '', path) }),
    ...Object.fromEntries(fields),
  };
}
