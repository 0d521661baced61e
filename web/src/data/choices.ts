/**
 * What a user chooses for the console, within the preferences that the server stores: theme, density, saved
 * views. Other clients keep their own there, so everything unknown stays as it is.
 */
import { isRecord } from '../../../contracts/is-record.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const DENSITIES = ['compact', 'comfortable'] as const;
type Density = (typeof DENSITIES)[number];

const DECIDES = ['two_keys', 'one_key'] as const;
type Decides = (typeof DECIDES)[number];

/** A filter of a list under a name. */
export interface SavedView {
  name: string;
  /** Parameters of the list's address, such as `status=faulted&q=refund`. */
  query: string;
  /** Where the list's name in the navigation leads. */
  isDefault: boolean;
  /** Members of other clients, which are kept. */
  others?: Content;
}

export interface Choices {
  /** Null if it was never chosen. */
  theme: Theme | null;
  /** Height of the rows of lists. */
  density: Density;
  /** Whether one key decides a task, with some seconds to take it back, rather than prepares the decision. */
  decides: Decides;
  /** By list. */
  views: Readonly<Record<string, readonly SavedView[]>>;
}

export type Content = Readonly<Record<string, unknown>>;
export type Change = (choices: Choices) => Choices;

/** Of one list. */
export const MAX_VIEWS = 50;
export const MAX_NAME = 100;

export function choicesIn(content: Content): Choices {
  const { theme, density, decides, views } = recordIn(content, 'console');
  const lists = isRecord(views) ? Object.entries(views) : [];
  return {
    theme: THEMES.find((one) => one === theme) ?? null,
    density: DENSITIES.find((one) => one === density) ?? 'compact',
    decides: DECIDES.find((one) => one === decides) ?? 'two_keys',
    views: Object.fromEntries(
      lists.map(([list, saved]) => [list, (Array.isArray(saved) ? saved : []).flatMap(viewIn)]),
    ),
  };
}

/** The whole content after a change of the console's part. */
export function changed(content: Content, change: Change): Content {
  const { theme, density, decides, views } = change(choicesIn(content));
  const lists = Object.entries(views).map(([list, saved]) => [
    list,
    saved.map(({ name, query, isDefault, others }) => ({
      ...others,
      name,
      query,
      ...(isDefault ? { default: true } : {}),
    })),
  ]);
  const before = recordIn(content, 'console');
  return {
    ...content,
    console: {
      ...before,
      ...(theme === null ? {} : { theme }),
      ...(density === 'compact' && before['density'] === undefined ? {} : { density }),
      ...(decides === 'two_keys' && before['decides'] === undefined ? {} : { decides }),
      views: Object.fromEntries(lists),
    },
  };
}

/** Saves a view; one of the same name is replaced and stays what it was in the list. */
export function saveView(list: string, name: string, query: string): Change {
  return changeList(list, (views) =>
    views.some((view) => view.name === name)
      ? views.map((view) => (view.name === name ? { ...view, query } : view))
      : [...views, { name, query, isDefault: false }].slice(0, MAX_VIEWS),
  );
}

export function removeView(list: string, name: string): Change {
  return changeList(list, (views) => views.filter((view) => view.name !== name));
}

/** Another view that has the new name already is replaced. */
export function renameView(list: string, name: string, next: string): Change {
  return changeList(list, (views) =>
    views.some((view) => view.name === name)
      ? views
          .filter((view) => view.name !== next || next === name)
          .map((view) => (view.name === name ? { ...view, name: next } : view))
      : views,
  );
}

/** @param name null for none */
export function makeDefault(list: string, name: string | null): Change {
  return changeList(list, (views) => views.map((view) => ({ ...view, isDefault: view.name === name })));
}

function changeList(list: string, change: (views: readonly SavedView[]) => readonly SavedView[]): Change {
  return (choices) => ({
    ...choices,
    views: { ...choices.views, [list]: change(choices.views[list] ?? []) },
  });
}

function viewIn(value: unknown): SavedView[] {
  if (!isRecord(value)) return [];
  const { name, query, default: isDefault, ...others } = value;
  if (typeof name !== 'string' || name === '' || typeof query !== 'string') return [];
  return [
    { name, query, isDefault: isDefault === true, ...(Object.keys(others).length > 0 ? { others } : {}) },
  ];
}

function recordIn(content: Content, name: string): Record<string, unknown> {
  const value = content[name];
  return isRecord(value) ? value : {};
}
