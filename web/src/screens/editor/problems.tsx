/** What is wrong with the text: a sentence each, which leads to its place. */
import { isNarrow } from '../../ui/narrow.ts';
import css from './editor.module.css';
import type { EditorModel } from './model.ts';
import { words } from './words.ts';

export function Problems({ model }: { model: EditorModel }) {
  const problems = model.checked.value?.problems ?? [];
  // Above the text, the number of problems is in sight.
  if (problems.length === 0 && model.canCheck.value && !isNarrow.value)
    return (
      <p class="hidden-text" role="status">
        <Count model={model} />
      </p>
    );
  return (
    <section class={css['problems']} aria-label={words.problems.label}>
      <header class={css['problemsHeader']}>
        <p role="status">
          <Count model={model} />
        </p>
        {problems.length > 0 && (
          <button type="button" class="plain" onClick={() => model.goToProblem()}>
            {words.problems.next} <kbd>F8</kbd>
          </button>
        )}
      </header>
      <ul>
        {problems.map((problem) => (
          <li key={`${problem.pointer} ${problem.message}`}>
            <button
              type="button"
              class={css['problem']}
              data-severity={problem.severity}
              onClick={() => (model.jump.value = { from: problem.from, to: problem.to })}
            >
              <span class={css['severity']}>{words.problems.severities[problem.severity]}</span>
              <span>{problem.message}</span>
              <code>{problem.pointer === '' ? words.problems.whole : problem.pointer}</code>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Count({ model }: { model: EditorModel }) {
  const checked = model.checked.value;
  if (!model.canCheck.value) return <>{words.problems.unavailable}</>;
  if (checked === null) return <>{words.problems.checking}</>;
  const { length } = checked.problems;
  return <>{length === 0 ? words.problems.none : words.problems.count(length)}</>;
}
