/** `${ … }` (jq on the input) and `<SECRET>` in stored configurations: data and secrets are inserted, never evaluated. */
import { template } from '../expressions/index.ts';
import { fault } from '../contracts/fault.ts';
import { replacePlaceholders } from '../contracts/placeholders.ts';
import type { Sensitive } from './sensitive.ts';

const SECRET_PREFIX = '__secret_';

/**
 * Evaluates all strings of a stored JSON value: a string that is one `${ … }` becomes its value, others become text.
 * `name` says in errors which setting is meant. Throws `Fault` (expression).
 */
export function renderTemplate(stored: unknown, input: unknown, sensitive: Sensitive, name: string): unknown {
  if (typeof stored === 'string') return renderText(stored, input, sensitive, name);
  if (typeof stored !== 'object' || stored === null) return stored;
  if (Array.isArray(stored)) return stored.map((item, index) => renderTemplate(item, input, sensitive, `${name}/${index}`));
  return Object.fromEntries(Object.entries(stored).map(([key, item]) => [key, renderTemplate(item, input, sensitive, `${name}/${key}`)]));
}

function renderText(text: string, input: unknown, sensitive: Sensitive, name: string): unknown {
  if (!text.includes('${')) return sensitive.fill(text);
  const variables: Record<string, unknown> = {};
  const variable = (secretName: string): string => {
    const variableName = `${SECRET_PREFIX}${secretName}`;
    variables[variableName] = sensitive.value(secretName);
    return `$${variableName}`;
  };
  // Secrets come in as variables, so that no character of theirs is ever read as part of an expression.
  const source = splitTemplate(text)
    .map(({ expression, source: part }) =>
      expression
        ? replacePlaceholders(part, (secretName) => `\\(${variable(secretName)})`)
        : replacePlaceholders(part, (secretName) => `\${${variable(secretName)}}`),
    )
    .join('');
  try {
    const value = template(source, { mode: 'strict', variables: Object.keys(variables) }).first(input, { variables });
    // jq may have changed the secret's form, as @base64 does.
    const [used] = Object.keys(variables);
    if (used !== undefined && typeof value === 'string') sensitive.protect(value, `<${used.slice(SECRET_PREFIX.length)}>`);
    return value;
  } catch (error) {
    const message = error instanceof Error ? sensitive.redact(error.message) : '';
    throw fault('expression', `${name} of the agent's configuration cannot be evaluated: ${message}`, { cause: error });
  }
}

/** Texts and `${ … }` parts, the latter with their braces; an unterminated one is left for the compiler to complain about. */
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

/** Offset behind the brace that closes the expression: jq's strings, their interpolations, and comments hold braces too. */
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
