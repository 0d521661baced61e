/** The saved views of a list: open, save, rename, delete, and choose the one that opens first. */
import { useSignal, type Signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

import {
  makeDefault,
  MAX_NAME,
  MAX_VIEWS,
  removeView,
  renameView,
  saveView,
  type Change,
  type SavedView,
} from '../data/choices.ts';
import { changeChoices, choices } from '../data/preferences.ts';
import { focusDrawn } from '../ui/focus.ts';
import { ProblemText } from '../ui/problem.tsx';
import { viewAddress, type ListName } from './screens.ts';
import css from './saved-views.module.css';
import { words } from './saved-views-words.ts';

interface Props {
  list: ListName;
  /** What is shown now. */
  filter: string;
  onClose: () => void;
}

const FIRST = `.${css['panel']} :is(a, input)`;

export function SavedViewsPanel({ list, filter, onClose }: Props) {
  const views = choices.value.views[list] ?? [];
  const problem = useSignal<unknown>(null);
  const renamed = useSignal<string | null>(null);
  const panel = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => panel.current?.querySelector<HTMLElement>('a, input')?.focus(), []);
  const change = async (made: Change) => {
    problem.value = null;
    try {
      await changeChoices(made);
      return true;
    } catch (error) {
      problem.value = error;
      return false;
    }
  };
  return (
    <div ref={panel} class={css['panel']}>
      {views.length === 0 && <p class="muted">{words.none}</p>}
      <ul class={css['views']}>
        {views.map((view) => (
          <li key={view.name} class={css['view']}>
            {renamed.value === view.name ? (
              <Rename list={list} view={view} views={views} renamed={renamed} change={change} />
            ) : (
              <View list={list} view={view} renamed={renamed} change={change} onClose={onClose} />
            )}
          </li>
        ))}
      </ul>
      <Save list={list} filter={filter} views={views} change={change} onClose={onClose} />
      {problem.value !== null && <ProblemText error={problem.value} />}
    </div>
  );
}

interface PartProps {
  list: ListName;
  view: SavedView;
  renamed: Signal<string | null>;
  /** @returns whether the server has taken it */
  change: (made: Change) => Promise<boolean>;
}

function View({ list, view, renamed, change, onClose }: PartProps & { onClose: () => void }) {
  const { name, query, isDefault } = view;
  const remove = async () => {
    if (await change(removeView(list, name))) focusDrawn(FIRST);
  };
  return (
    <>
      <a class={css['name']} href={viewAddress(list, query)} onClick={onClose}>
        {name} {isDefault && <span class="muted">{words.isDefault}</span>}
      </a>
      <button
        type="button"
        class="plain"
        aria-pressed={isDefault}
        onClick={() => void change(makeDefault(list, isDefault ? null : name))}
      >
        {words.makeDefault} <span class="hidden-text">{name}</span>
      </button>
      <button
        type="button"
        class="plain"
        onClick={() => {
          renamed.value = name;
          focusDrawn(`.${css['view']} input`);
        }}
      >
        {words.rename} <span class="hidden-text">{name}</span>
      </button>
      <button type="button" class="plain" onClick={() => void remove()}>
        {words.delete} <span class="hidden-text">{name}</span>
      </button>
    </>
  );
}

function Rename({ list, view, views, renamed, change }: PartProps & { views: readonly SavedView[] }) {
  const name = useSignal(view.name);
  const isTaken = views.some((other) => other !== view && other.name === name.value.trim());
  const close = () => {
    renamed.value = null;
    focusDrawn(FIRST);
  };
  const rename = async () => {
    const next = name.value.trim();
    if (next !== '' && !isTaken && (await change(renameView(list, view.name, next)))) close();
  };
  return (
    <form
      class={css['form']}
      onSubmit={(event) => {
        event.preventDefault();
        void rename();
      }}
    >
      <input
        aria-label={words.newName(view.name)}
        aria-invalid={isTaken}
        required
        maxLength={MAX_NAME}
        value={name}
        onInput={({ currentTarget }) => (name.value = currentTarget.value)}
      />
      <button type="submit">{words.save}</button>
      <button type="button" class="plain" onClick={close}>
        {words.keep}
      </button>
      {isTaken && <p role="alert">{words.taken(name.value.trim())}</p>}
    </form>
  );
}

interface SaveProps extends Pick<PartProps, 'list' | 'change'> {
  filter: string;
  views: readonly SavedView[];
  onClose: () => void;
}

function Save({ list, filter, views, change, onClose }: SaveProps) {
  const name = useSignal('');
  const isKnown = views.some((view) => view.name === name.value.trim());
  const save = async () => {
    const given = name.value.trim();
    if (given !== '' && (await change(saveView(list, given, filter)))) onClose();
  };
  if (views.length >= MAX_VIEWS && !isKnown) return <p class="muted">{words.full(MAX_VIEWS)}</p>;
  return (
    <form
      class={css['form']}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label>
        {words.name}
        <input
          required
          maxLength={MAX_NAME}
          value={name}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        {words.save}
      </button>
      <p class="muted" role="status">
        {isKnown && words.replaces(name.value.trim())}
      </p>
    </form>
  );
}
