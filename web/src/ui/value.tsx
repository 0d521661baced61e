/** Shows any JSON value: an object as a table, anything deeper as JSON. */
import css from './value.module.css';

/** More rows and longer texts are cut; the raw value is one click away. */
const MAX_ROWS = 50;
const MAX_TEXT = 20_000;

export function Value({ value, label }: { value: unknown; label: string }) {
  if (isTable(value))
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
  return <pre>{cut(JSON.stringify(value, null, 2))}</pre>;
}

function isTable(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.keys(value).length > 0;
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).toWellFormed()}…` : text;
}
