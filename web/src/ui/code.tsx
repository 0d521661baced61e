import { tell } from './toasts.tsx';
import css from './code.module.css';
import { words } from './words.ts';

/** A text to copy, such as a command or a JSON document. */
export function Code({ label, text }: { label: string; text: string }) {
  const copy = async () => {
    // Browsers offer the clipboard on secure pages only.
    await navigator.clipboard?.writeText(text);
    tell(words.copied);
  };
  return (
    <div class={css['box']} role="group" aria-label={label}>
      {'clipboard' in navigator && (
        <button type="button" class={`plain ${css['copy']}`} onClick={() => void copy()}>
          {words.copy}
        </button>
      )}
      <pre>{text}</pre>
    </div>
  );
}
