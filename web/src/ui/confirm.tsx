import { useSignal } from '@preact/signals';

import { Dialog } from './dialog.tsx';
import { ProblemText } from './problem.tsx';
import css from './record-form.module.css';
import { words } from './words.ts';

interface Props {
  /** What is asked, or null while nothing is. */
  title: string | null;
  text: string;
  /** The verb of the button. */
  act: string;
  /** Closes it without acting. */
  back?: string;
  onAct: () => Promise<void>;
  onClose: () => void;
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, text, act, back = words.cancel, onAct, onClose }: Props) {
  const refused = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  const close = () => {
    refused.value = null;
    onClose();
  };
  const confirmed = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      await onAct();
      close();
    } catch (error) {
      refused.value = error;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <Dialog open={title !== null} title={title ?? ''} onClose={close}>
      <p>{text}</p>
      {refused.value !== null && <ProblemText error={refused.value} />}
      <div class={css['buttons']}>
        <button type="button" class="primary" onClick={() => void confirmed()}>
          {act}
        </button>
        <button type="button" onClick={close}>
          {back}
        </button>
      </div>
    </Dialog>
  );
}
