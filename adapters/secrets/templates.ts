/**
 * `${ … }` (jq on the input) and `<SECRET>` in stored configurations: data and secrets are inserted, never
 * evaluated.
 */
import { template } from '../../language/expressions/index.ts';
import { fault } from '../../contracts/fault.ts';
import { fillPlaceholders } from '../../contracts/placeholders.ts';
import { callBudget, type ExpressionBudget } from '../../language/expression-budget.ts';
import { splitTemplate } from '../../language/split-template.ts';
import type { Sensitive } from './sensitive.ts';

const SECRET_PREFIX = '__secret_';

/**
 * Evaluates all strings of a stored JSON value. A string that is one `${ … }` becomes its value, other
 * strings become text. `name` identifies the setting in errors, `given` are more variables. Throws `Fault`
 * (expression).
 */
export function renderTemplate(
  stored: unknown,
  input: unknown,
  sensitive: Sensitive,
  name: string,
  given: Readonly<Record<string, unknown>> = {},
  budget = callBudget(),
): unknown {
  if (typeof stored === 'string') return renderText(stored, input, sensitive, name, given, budget);
  if (typeof stored !== 'object' || stored === null) return stored;
  if (Array.isArray(stored))
    return stored.map((item, index) =>
      renderTemplate(item, input, sensitive, `${name}/${index}`, given, budget),
    );
  return Object.fromEntries(
    Object.entries(stored).map(([key, item]) => [
      key,
      renderTemplate(item, input, sensitive, `${name}/${key}`, given, budget),
    ]),
  );
}

/** Replaces the placeholders in all strings of a stored JSON value; `${ … }` stays as it is. */
export function renderPlaceholders(stored: unknown, sensitive: Pick<Sensitive, 'fill'>): unknown {
  if (typeof stored === 'string') return sensitive.fill(stored);
  if (typeof stored !== 'object' || stored === null) return stored;
  if (Array.isArray(stored)) return stored.map((item) => renderPlaceholders(item, sensitive));
  return Object.fromEntries(
    Object.entries(stored).map(([key, item]) => [key, renderPlaceholders(item, sensitive)]),
  );
}

function renderText(
  text: string,
  input: unknown,
  sensitive: Sensitive,
  name: string,
  given: Readonly<Record<string, unknown>>,
  budget: ExpressionBudget,
): unknown {
  if (!text.includes('${')) return sensitive.fill(text);
  const variables: Record<string, unknown> = { ...given };
  const variable = (secretName: string): string => {
    const variableName = `${SECRET_PREFIX}${secretName}`;
    variables[variableName] = sensitive.value(secretName);
    return `$${variableName}`;
  };
  // Secrets are passed as variables, so no character of theirs is parsed as part of an expression.
  const source = splitTemplate(text)
    .map(({ expression, source: part }) =>
      expression
        ? fillPlaceholders(part, (secretName) => `\\(${variable(secretName)})`)
        : fillPlaceholders(part, (secretName) => `\${${variable(secretName)}}`),
    )
    .join('');
  try {
    const value = template(source, { mode: 'strict', variables: Object.keys(variables) }).first(input, {
      ...budget.options,
      variables,
    });
    // jq may have changed the secret's form, for example with @base64.
    const [used] = Object.keys(variables).filter((variableName) => variableName.startsWith(SECRET_PREFIX));
    if (used !== undefined && typeof value === 'string')
      sensitive.protect(value, `<${used.slice(SECRET_PREFIX.length)}>`);
    return value;
  } catch (error) {
    const message = error instanceof Error ? sensitive.redact(error.message) : '';
    throw fault('expression', `${name} of the agent's configuration cannot be evaluated: ${message}`, {
      cause: error,
    });
  }
}
