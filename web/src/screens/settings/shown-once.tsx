import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import css from './settings.module.css';
import { words } from './words.ts';

/** A secret that the server tells once, by its name; nothing while there is none. */
interface Props {
  values: Record<string, string> | null;
  title?: string;
  onClose: () => void;
}

export function ShownOnce({ values, title = words.secretOnce, onClose }: Props) {
  return (
    <Dialog open={values !== null} title={title} onClose={onClose}>
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
