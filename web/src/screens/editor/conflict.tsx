/** Somebody else has saved the workflow since this text was opened. */
import { lazy } from '../../app/lazy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import css from './editor.module.css';
import type { Base, EditorModel } from './model.ts';
import { words } from './words.ts';

const TextDiff = lazy(async () => (await import('../../ui/text-diff/text-diff.tsx')).TextDiff);

interface Props {
  model: EditorModel;
  onOverwrite: (theirs: Base) => void;
}

export function Conflict({ model, onOverwrite }: Props) {
  const theirs = model.conflict.value;
  const close = () => (model.conflict.value = null);
  const isNewRevision = theirs?.workflow.revision !== model.base.value?.workflow.revision;
  const title = isNewRevision
    ? words.conflict.title(theirs?.workflow.revision ?? 0)
    : words.conflict.sameRevision;
  return (
    <Dialog open={theirs !== null} title={title} onClose={close}>
      {theirs !== null && (
        <>
          <p>{words.conflict.text}</p>
          <div class={css['conflict']}>
            <TextDiff
              before={JSON.stringify(theirs.workflow.definition, null, 2)}
              after={JSON.stringify(model.definition.value, null, 2)}
              label={words.conflict.comparison}
            />
          </div>
          <div class={css['actions']}>
            <button
              type="button"
              class="primary"
              onClick={() => {
                close();
                onOverwrite(theirs);
              }}
            >
              {words.conflict.overwrite}
            </button>
            <button type="button" onClick={() => void model.take(theirs)}>
              {words.conflict.take}
            </button>
            <button type="button" onClick={close}>
              {words.conflict.keep}
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}
