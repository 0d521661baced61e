/** The picture of the text, or of the last one that could be read. */
import { Diagram } from '../../ui/diagram/diagram.tsx';
import css from './editor.module.css';
import type { EditorModel } from './model.ts';
import { taskAt } from './places.ts';
import { words } from './words.ts';

export function Picture({ model }: { model: EditorModel }) {
  const checked = model.checked.value;
  const definition = model.definition.value;
  if (definition === null)
    return (
      <p class="muted">
        {checked === null && model.canCheck.value ? words.picture.checking : words.picture.none}
      </p>
    );
  const isOld = checked?.definition === undefined;
  return (
    <div class={css['picture']}>
      {isOld && <p class={css['old']}>{words.picture.old}</p>}
      <Diagram
        definition={definition}
        chosen={checked === null || isOld ? null : taskAt(checked.tasks, model.cursor.value)}
        onSelect={(pointer) => model.goTo(pointer)}
        problems={isOld ? [] : checked.problems}
      />
    </div>
  );
}
