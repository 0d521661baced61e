/** RFC 6901: appends segments to a JSON pointer. */
export function pointer(base: string, ...segments: (string | number)[]): string {
  return (
    base +
    segments.map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  );
}
