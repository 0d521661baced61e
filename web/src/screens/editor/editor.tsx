/** Writes a definition: text, picture, problems, start form, expressions and changes, side by side. */
import { useEffect, useRef, useState } from 'preact/hooks';

import { useKeys } from '../../app/keys.ts';
import { lazy } from '../../app/lazy.tsx';
import { navigate, query, setQuery } from '../../app/router.ts';
import { editorAddress, workflowAddress, workflowsAddress } from '../../app/routes.ts';
import { user } from '../../data/session.ts';
import { mayCallForAny } from '../../data/teams.ts';
import { isNarrow } from '../../ui/narrow.ts';
import page from '../../ui/page.module.css';
import { detailOf, ProblemText } from '../../ui/problem.tsx';
import { RecordSkeleton } from '../../ui/record-skeleton.tsx';
import { Refused } from '../../ui/refused.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { clockTime } from '../../ui/time.ts';
import { useTitle } from '../../ui/title.ts';
import { complain, tell } from '../../ui/toasts.tsx';
import { WarningList } from '../../ui/warnings.tsx';
import { CodeEditor } from './code-editor.tsx';
import css from './editor.module.css';
import { Header } from './header.tsx';
import { EditorModel, type Base } from './model.ts';
import { Problems } from './problems.tsx';
import { NO_NAMES, readRegistry } from './registry.ts';
import { words } from './words.ts';

// The text comes first.
const Picture = lazy(async () => (await import('./picture.tsx')).Picture);
const Start = lazy(async () => (await import('./start.tsx')).Start);
const Playground = lazy(async () => (await import('./playground.tsx')).Playground);
const Changes = lazy(async () => (await import('./changes.tsx')).Changes);
const Conflict = lazy(async () => (await import('./conflict.tsx')).Conflict);

const SIDE = ['picture', 'start', 'try', 'changes'] as const;
const ALL = ['text', 'picture', 'problems', 'start', 'try', 'changes'] as const;
type View = (typeof ALL)[number];

/** @param id null for a new workflow */
export function Editor({ id }: { id: string | null }) {
  const [model, setModel] = useState(() => new EditorModel(user.value?.id ?? '', id));
  useEffect(() => {
    // A new workflow gets its id when it is saved.
    if (model.id.value !== id) setModel(new EditorModel(user.value?.id ?? '', id));
  }, [id]);
  useEffect(() => {
    void model.open();
    return () => model.close();
  }, [model]);
  useTitle(words.document(id === null ? words.newTitle : model.name.value));
  if (!model.isLoaded.value)
    return (
      <div class={css['page']}>
        {model.loadError.value === null ? (
          <RecordSkeleton title={words.document(id ?? words.newTitle)} />
        ) : (
          <>
            <h1 class="hidden-text">{words.document(id ?? words.newTitle)}</h1>
            <ProblemText error={model.loadError.value} retry={() => void model.open()} />
          </>
        )}
      </div>
    );
  return mayWrite(model) ? <Loaded model={model} /> : <Unwritable model={model} />;
}

/** Whether the user may make a workflow, or change this one. */
function mayWrite(model: EditorModel): boolean {
  const workflow = model.base.value?.workflow;
  return workflow === undefined ? mayCallForAny('createWorkflow') : workflow.can.includes('update');
}

function Unwritable({ model }: { model: EditorModel }) {
  const workflow = model.base.value?.workflow;
  return (
    <div class={page['page']}>
      <h1>{words.document(workflow?.name ?? words.newTitle)}</h1>
      {workflow === undefined ? (
        <Refused operation="createWorkflow" />
      ) : (
        <p class="muted">
          {words.cannotChange}{' '}
          <a href={workflowAddress(workflow.id, { view: 'definition' })}>{words.itsDefinition}</a>
        </p>
      )}
    </div>
  );
}

function Loaded({ model }: { model: EditorModel }) {
  const { views, view, show, save, run } = useActions(model);
  // What leads to a place in the text has to show the text.
  useEffect(() => {
    if (model.jump.value !== null && isNarrow.value) show('text');
  }, [model.jump.value]);
  const text = <Text model={model} isHidden={isNarrow.value && view !== 'text'} onRun={() => void run()} />;
  return (
    <div class={css['page']}>
      <Header model={model} onSave={() => void save()} onRun={() => void run()} />
      {model.keptAt.value !== null && <Kept model={model} at={model.keptAt.value} />}
      <OtherLanguage model={model} />
      <Warnings model={model} />
      <div class={css['body']}>
        {!isNarrow.value && text}
        <div class={css['side']}>
          <Tabs
            label={words.viewsLabel}
            tabs={views.map((one) => ({ id: one, label: words.views[one] }))}
            current={view}
            onChange={show}
          >
            {isNarrow.value && text}
            <Side model={model} view={view} />
          </Tabs>
        </div>
      </div>
      {!isNarrow.value && <Problems model={model} />}
      {model.conflict.value !== null && (
        <Conflict model={model} onOverwrite={(theirs) => void save(theirs)} />
      )}
    </div>
  );
}

/** What one sees, and what keys and buttons do. */
function useActions(model: EditorModel) {
  const views: readonly View[] = isNarrow.value ? ALL : SIDE;
  const view = views.find((one) => one === query.value['view']) ?? views[0] ?? 'picture';
  const show = (to: View) => setQuery({ view: to === views[0] ? undefined : to }, 'replace');
  const save = async (over?: Base): Promise<boolean> => {
    try {
      return report(model, await model.save(over));
    } catch (error) {
      complain(detailOf(error));
      return false;
    }
  };
  const run = async () => {
    if ((model.isChanged.value || model.id.value === null) && !(await save())) return;
    model.isStartAsked.value = true;
    show('start');
  };
  useKeys(
    {
      'mod+s': () => void save(),
      'mod+Enter': () => void run(),
      F8: () => model.goToProblem(),
      u: () => navigate(model.id.value === null ? workflowsAddress() : workflowAddress(model.id.value)),
      ...Object.fromEntries(views.map((one, index) => [String(index + 1), () => show(one)])),
    },
    {
      ...words.shortcuts,
      ...Object.fromEntries(views.map((one, index) => [String(index + 1), words.show(words.views[one])])),
    },
  );
  return { views, view, show, save, run };
}

function Text({ model, isHidden, onRun }: { model: EditorModel; isHidden: boolean; onRun: () => void }) {
  const registry = useRegistry();
  return (
    <div class={css['text']} hidden={isHidden}>
      <CodeEditor model={model} registry={registry} onRun={onRun} />
      <p class={css['hint']}>
        {words.leave} {model.format.value === 'yaml' && words.comments}
      </p>
    </div>
  );
}

/** @returns whether what is on the screen is saved */
function report(model: EditorModel, saved: Awaited<ReturnType<EditorModel['save']>>): boolean {
  if (typeof saved === 'object') {
    complain(saved.refused);
    return false;
  }
  const workflow = model.base.value?.workflow;
  if (saved === 'conflict' || workflow === undefined) return false;
  tell(saved === 'saved' ? words.saved(workflow.name, workflow.revision) : words.unchanged);
  navigate(editorAddress(workflow.id), 'replace');
  return true;
}

function useRegistry() {
  const registry = useRef(NO_NAMES);
  useEffect(() => {
    void readRegistry().then((names) => (registry.current = names));
  }, []);
  return () => registry.current;
}

function Kept({ model, at }: { model: EditorModel; at: string }) {
  return (
    <p class={css['kept']} role="status">
      {words.kept(clockTime(at).slice(0, 5))}{' '}
      <button
        type="button"
        class="plain"
        onClick={() => void model.discard().catch((error: unknown) => complain(detailOf(error)))}
      >
        {words.discard}
      </button>
    </p>
  );
}

/** Such as YAML that was pasted where JSON was expected. */
function OtherLanguage({ model }: { model: EditorModel }) {
  const format = model.checked.value?.isIn;
  if (format === undefined || format === model.format.value) return null;
  const [is, wanted] = [words.formats[format], words.formats[model.format.value]];
  return (
    <p class={css['kept']} role="status">
      {words.otherLanguage(is, wanted)}{' '}
      <button type="button" class="plain" onClick={() => model.readAs(format)}>
        {words.editAs(is)}
      </button>
    </p>
  );
}

/** Of what is saved. It is there without warnings too, so that those of a saved change are read out. */
function Warnings({ model }: { model: EditorModel }) {
  const warnings = model.base.value?.workflow.warnings ?? [];
  return (
    <div class={warnings.length > 0 ? css['kept'] : undefined} role="status">
      <WarningList warnings={warnings} />
    </div>
  );
}

function Side({ model, view }: { model: EditorModel; view: View }) {
  switch (view) {
    case 'text':
      return null;
    case 'picture':
      return <Picture model={model} />;
    case 'problems':
      return <Problems model={model} />;
    case 'start':
      return <Start model={model} />;
    case 'try':
      return <Playground model={model} />;
    case 'changes':
      return <Changes model={model} />;
  }
}
