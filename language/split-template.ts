/**
 * Splits a template into literal texts and `${ … }` parts (with their braces). The compiler reports an
 * unterminated part.
 */
export function splitTemplate(text: string): { expression: boolean; source: string }[] {
  const parts: { expression: boolean; source: string }[] = [];
  let at = 0;
  for (;;) {
    const start = text.indexOf('${', at);
    if (start === -1) break;
    const end = endOfExpression(text, start + 2);
    if (start > at) parts.push({ expression: false, source: text.slice(at, start) });
    parts.push({ expression: true, source: text.slice(start, end) });
    at = end;
  }
  if (at < text.length) parts.push({ expression: false, source: text.slice(at) });
  return parts;
}

const CLOSERS: Record<string, string> = { '{': '}', '(': ')', '[': ']' };

/**
 * Offset after the brace that closes the expression. Braces inside jq's strings, interpolations and comments
 * do not count.
 */
function endOfExpression(text: string, start: number): number {
  const open: string[] = ['}'];
  for (let i = start; i < text.length; i += 1) {
    const char = text.charAt(i);
    const innermost = open.at(-1);
    if (innermost === '"') {
      if (char === '\\') {
        if (text.charAt(i + 1) === '(') open.push(')');
        i += 1;
      } else if (char === '"') open.pop();
    } else if (char === '"') open.push('"');
    else if (char === '#') {
      const newline = text.indexOf('\n', i);
      i = newline === -1 ? text.length : newline;
    } else if (CLOSERS[char] !== undefined) open.push(CLOSERS[char]);
    else if (char === innermost) {
      open.pop();
      if (open.length === 0) return i + 1;
    }
  }
  return text.length;
}
