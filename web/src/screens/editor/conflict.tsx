/** Somebody else has saved the workflow since this text was opened. */
import { Dialog } from '../../ui/dialog.tsx';
import { detailOf } from '../../ui/problem.tsx';
import { complain } from '../../ui/toasts.tsx';
import css from './editor.module.css';
import type { Base, EditorModel } from './model.ts';
import { RevisionDiff } from './revision-diff.tsx';
import { words } from './words.ts';

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
            <RevisionDiff
              model={model}
              id={theirs.workflow.id}
              revision={theirs.workflow.revision}
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
            <button
              type="button"
              onClick={() => void model.take(theirs).catch((error: unknown) => complain(detailOf(error)))}
            >
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
