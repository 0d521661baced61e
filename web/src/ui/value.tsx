/** Shows any JSON value: an object as a table, files as themselves, anything deeper as JSON. */
import { shortened } from '../../../contracts/cut-text.ts';
import { lazy } from '../app/lazy.tsx';
import type { FileValueProps } from './file-value.tsx';
import css from './value.module.css';

/** More rows and longer texts are cut; the raw value is one click away. */
const MAX_ROWS = 50;
const MAX_TEXT = 20_000;
const FILE_MEMBERS = new Set(['file_id', 'name', 'media_type', 'size', 'sha256']);

const FileValue = lazy(async () => (await import('./file-value.tsx')).FileValue);

export function Value({ value, label }: { value: unknown; label: string }) {
  if (isTable(value) && !isFile(value))
    return (
      <dl class={css['table']}>
        {Object.entries(value)
          .slice(0, MAX_ROWS)
          .map(([name, entry]) => (
            <div key={name} class={css['row']}>
              <dt>{name}</dt>
              <dd>
                <Plain value={entry} />
              </dd>
            </div>
          ))}
      </dl>
    );
  return (
    <div class={css['box']} role="group" aria-label={label}>
      <Plain value={value} />
    </div>
  );
}

function Plain({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span class="muted">–</span>;
  if (typeof value === 'string') return <span class={css['text']}>{cut(value)}</span>;
  if (typeof value === 'number' || typeof value === 'boolean')
    return <span class="number">{String(value)}</span>;
  if (isFile(value)) return <FileValue file={value} />;
  if (Array.isArray(value) && value.length > 0 && value.length <= MAX_ROWS && value.every(isFile))
    return value.map((file) => <FileValue key={file.file_id} file={file} />);
  return <pre>{cut(JSON.stringify(value, null, 2))}</pre>;
}

function isTable(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.keys(value).length > 0;
}

function isFile(value: unknown): value is FileValueProps['file'] {
  if (!isTable(value) || typeof value['file_id'] !== 'string') return false;
  return Object.keys(value).every((name) => FILE_MEMBERS.has(name));
}

function cut(text: string): string {
  return shortened(text, MAX_TEXT);
}
