/** The secrets that a stored configuration names, for callers outside the adapters. */
import type { GuardSecrets } from '../../domain/ports.ts';
import { renderPlaceholders } from './templates.ts';
import { loadSensitive } from './sensitive.ts';

export const guardSecrets: GuardSecrets = async (stored, secret) => {
  const sensitive = await loadSensitive(stored, secret);
  return {
    fill: (value) => renderPlaceholders(value, sensitive),
    clean: (value) => sensitive.clean(value),
    redact: (text) => sensitive.redact(text),
  };
};
