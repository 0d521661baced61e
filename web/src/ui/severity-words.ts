/** How bad a problem of a definition is. */
import type { Severity } from '../../../language/definition/problems.ts';

export const severityWords: Readonly<Record<Severity, string>> = {
  error: 'error',
  unsupported: 'not supported',
  warning: 'warning',
};
