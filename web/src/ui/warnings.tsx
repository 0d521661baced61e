/** What the API warns of at a record: in its list a number, on its page a sentence each. */
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
    <span class={page['warning']} title={warnings.map(({ message }) => message).join('\n')}>
      {words.count(warnings.length)}
    </span>
  );
}
