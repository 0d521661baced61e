import { OAuthError } from '../../domain/errors.ts';

/** OAuth defines fewer than ten parameters; client libraries may add their own. */
const MAX_PARAMETERS = 100;

/**
 * Parses the parameters of a form (RFC 6749 section 3.2), in one pass.
 * @throws OAuthError `invalid_request` for more than 100 parameters and for repeated ones
 */
export function formFields(text: string): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name))
      throw new OAuthError('invalid_request', `${name.slice(0, 100)} is sent more than once.`);
    if (fields.size === MAX_PARAMETERS)
      throw new OAuthError('invalid_request', `A form may have at most ${MAX_PARAMETERS} parameters.`);
    fields.set(name, value);
  }
  return Object.fromEntries(fields);
}
