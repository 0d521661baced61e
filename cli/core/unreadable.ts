/** Files that cannot be read. */
import { CliError } from './errors.ts';
import { hasCode } from './lock.ts';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOENT: 'no such file',
};

export function unreadable(path: string, error: unknown, code = 'file_unreadable'): CliError {
  const [, reason] = Object.entries(REASONS).find(([name]) => hasCode(error, name)) ?? [];
  const detail = reason ?? (error instanceof Error ? error.message : String(error));
  return new CliError(`Cannot read ${path}: ${detail}`, { code });
}
