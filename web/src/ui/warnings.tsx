/** What the API warns of at a record: a sentence each, in its list on demand. */
import page from './page.module.css';
import { words } from './warning-words.ts';

interface Warning {
  /** JSON pointer into the record. */
  pointer: string;
  message: string;
}

export function WarningList({ warnings }: { warnings: readonly Warning[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul class={page['warnings']} aria-label={words.list}>
      {warnings.map(({ pointer, message }) => (
        <li key={`${pointer} ${message}`}>
          {words.one(message)} <code>{pointer}</code>
        </li>
      ))}
    </ul>
  );
}

export function WarningCount({ warnings }: { warnings: readonly Warning[] }) {
  if (warnings.length === 0) return null;
  return (
    <details class={page['counted']}>
      <summary>{words.count(warnings.length)}</summary>
      <WarningList warnings={warnings} />
    </details>
  );
}
