import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import css from './settings.module.css';
import { words } from './words.ts';

/** A secret that the server tells once, by its name; nothing while there is none. */
export function ShownOnce({
  values,
  onClose,
}: {
  values: Record<string, string> | null;
  onClose: () => void;
}) {
  return (
    <Dialog open={values !== null} title={words.secretOnce} onClose={onClose}>
      <div class={css['once']}>
        {Object.entries(values ?? {}).map(([name, value]) => (
          <div key={name}>
            <h3>{name}</h3>
            <Code label={name} text={value} />
          </div>
        ))}
        <div>
          <button type="button" class="primary" onClick={onClose}>
            {words.close}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
