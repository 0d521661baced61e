/** The button at the end of a row that deletes its record, after a question. */
import { useSignal } from '@preact/signals';

import { Confirm } from '../../ui/confirm.tsx';
import { words } from './words.ts';

interface Props {
  title: string;
  text: string;
  /** The verb; default: delete. */
  act?: string;
  onAct: () => Promise<void>;
}

export function Removal({ title, text, act = words.delete, onAct }: Props) {
  const asks = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (asks.value = true)}>
        {act}
      </button>
      <Confirm
        title={asks.value ? title : null}
        text={text}
        act={act}
        onAct={onAct}
        onClose={() => (asks.value = false)}
      />
    </>
  );
}
