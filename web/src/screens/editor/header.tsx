/** What is edited, whether it is saved, and what one can do with it. */
import { useSignal } from '@preact/signals';
import { useEffect, useId } from 'preact/hooks';

import { isMac, keyName } from '../../app/key-names.ts';
import { ListLink } from '../../app/record-path.tsx';
import { query, setQuery } from '../../app/router.ts';
import { workflowAddress } from '../../app/routes.ts';
import { teamToBuildFor } from '../../data/teams.ts';
import { Confirm } from '../../ui/confirm.tsx';
import page from '../../ui/page.module.css';
import { TeamSelect } from '../../ui/team-choice.tsx';
import { complain } from '../../ui/toasts.tsx';
import type { Format } from './checks.ts';
import css from './editor.module.css';
import type { EditorModel } from './model.ts';
import { words } from './words.ts';

interface Props {
  model: EditorModel;
  onSave: () => void;
  onRun: () => void;
}

const FORMATS: readonly Format[] = ['json', 'yaml'];

export function Header({ model, onSave, onRun }: Props) {
  const workflow = model.base.value?.workflow;
  return (
    <header class={css['header']}>
      <div class={page['heading']}>
        <p class={page['path']}>
          <ListLink list="workflows" /> /{' '}
          {workflow === undefined ? (
            words.newTitle
          ) : (
            <a href={workflowAddress(workflow.id)}>{workflow.id.slice(-12)}</a>
          )}
        </p>
        <h1 class="hidden-text">{workflow === undefined ? words.newTitle : words.document(workflow.name)}</h1>
        <Name model={model} />
        <p class={page['facts']}>
          <span>{workflow === undefined ? words.notSaved : words.revision(workflow.revision)}</span>
          {workflow !== undefined && model.isChanged.value && <span>{words.unsaved}</span>}
          <Check model={model} />
        </p>
      </div>
      <div class={page['actions']}>
        {workflow === undefined && <Holder model={model} />}
        <FormatChoice model={model} />
        <button type="button" onClick={() => void layOut(model, model.format.value)}>
          {words.layOut} <kbd>{isMac ? '⌥⇧F' : 'Alt Shift F'}</kbd>
        </button>
        <button type="button" disabled={model.isBusy.value} onClick={onRun}>
          {words.run} <kbd>{keyName('mod+Enter', isMac)}</kbd>
        </button>
        <button type="button" class="primary" disabled={model.isBusy.value} onClick={onSave}>
          {words.save} <kbd>{keyName('mod+s', isMac)}</kbd>
        </button>
      </div>
    </header>
  );
}

/** For whom a new workflow is. */
function Holder({ model }: { model: EditorModel }) {
  const team = teamToBuildFor('createWorkflow', query.value['team']);
  useEffect(() => {
    model.team.value = team;
  }, [model, team]);
  const choose = (to: string) => setQuery({ team: to === '' ? undefined : to }, 'replace');
  return <TeamSelect operation="createWorkflow" value={team} onChange={choose} />;
}

async function layOut(model: EditorModel, to: Format): Promise<void> {
  if (!(await model.layOut(to))) complain(words.unreadable);
}

/** Comments of YAML go with a change to JSON, so that is asked first. */
function FormatChoice({ model }: { model: EditorModel }) {
  const isAsked = useSignal(false);
  const choose = async (to: Format) => {
    if (to === 'json' && (await model.hasComments())) isAsked.value = true;
    else await layOut(model, to);
  };
  return (
    <>
      <select
        aria-label={words.formatLabel}
        value={model.format.value}
        onChange={(event) => {
          const to = event.currentTarget.value === 'yaml' ? 'yaml' : 'json';
          // A text that cannot be read keeps its language.
          event.currentTarget.value = model.format.value;
          void choose(to);
        }}
      >
        {FORMATS.map((format) => (
          <option key={format} value={format}>
            {words.formats[format]}
          </option>
        ))}
      </select>
      <Confirm
        title={isAsked.value ? words.dropComments.title : null}
        text={words.dropComments.text}
        act={words.dropComments.drop}
        back={words.dropComments.keep}
        onAct={() => layOut(model, 'json')}
        onClose={() => (isAsked.value = false)}
      />
    </>
  );
}

function Name({ model }: { model: EditorModel }) {
  const id = useId();
  return (
    <>
      <label class="hidden-text" for={id}>
        {words.name}
      </label>
      <input
        id={id}
        class={css['name']}
        value={model.name.value}
        maxLength={255}
        aria-invalid={model.name.value.trim() === ''}
        onInput={(event) => model.edit({ name: event.currentTarget.value })}
      />
    </>
  );
}

function Check({ model }: { model: EditorModel }) {
  const checked = model.checked.value;
  if (checked === null) return null;
  const { length } = checked.problems;
  return (
    <span class={length > 0 ? css['refused'] : undefined}>
      {length === 0 ? words.problems.none : words.problems.count(length)} ·{' '}
      {words.problems.took(checked.tookMs)}
    </span>
  );
}
