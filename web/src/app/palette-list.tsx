import { useLayoutEffect, useMemo } from 'preact/hooks';

import { choices } from '../data/preferences.ts';
import { logOut, mayCall } from '../data/session.ts';
import { NEEDS, PARTS } from '../screens/settings/parts.ts';
import { words as settingsWords } from '../screens/settings/words.ts';
import { detailOf } from '../ui/problem.tsx';
import { complain } from '../ui/toasts.tsx';
import { navigateAndFocus } from './go.ts';
import { keyLines, keyName, isMac } from './key-names.ts';
import { press, shortcutsOf } from './keys.ts';
import { optionId, PALETTE_LIST, type PaletteState } from './palette-state.ts';
import { matching, type Entry, type Group } from './palette-entries.ts';
import { useSearch } from './palette-search.ts';
import css from './palette.module.css';
import { words } from './palette-words.ts';
import { agentAddress, editorAddress, settingsAddress } from './routes.ts';
import { homeAddress, SCREENS, viewAddress } from './screens.ts';
import { words as shellWords } from './words.ts';

const { groups } = words;

interface Props extends PaletteState {
  onChoose: (entry: Entry) => void;
}

export function PaletteList({ text, active, entries, onChoose }: Props) {
  // What the screen offers is asked once: the palette covers it.
  const own = useMemo(() => {
    const screen = actions();
    const deeds = others().filter(({ label }) => !screen.some((action) => action.label === label));
    return [...screen, ...views(), ...places(), ...deeds];
  }, []);
  const search = useSearch(text.value);
  const found = useMemo(() => {
    // Until the server has answered, what it found before is narrowed down here.
    const isCurrent = search.text === text.value.trim();
    const records = isCurrent ? grouped(search.entries) : matching(search.entries, text.value);
    return [...matching(own, text.value), ...(text.value === '' ? [] : records)];
  }, [own, search, text.value]);
  const all = useMemo(() => found.flatMap((group) => group.entries), [found]);
  useLayoutEffect(() => {
    entries.value = all;
    active.value = Math.min(active.value, Math.max(all.length - 1, 0));
  }, [all]);
  useLayoutEffect(() => {
    document.getElementById(optionId(active.value))?.scrollIntoView({ block: 'nearest' });
  }, [active.value, all]);
  return (
    <>
      <Options found={found} all={all} active={active.value} onChoose={onChoose} />
      <p class={css['state']} role="status">
        {search.isBusy
          ? words.searching
          : all.length === 0
            ? words.nothing(text.value.trim())
            : words.count(all.length)}
      </p>
      {search.failed.length > 0 && (
        <p class={css['state']} role="alert">
          {words.failed(search.failed)}
        </p>
      )}
    </>
  );
}

interface OptionsProps {
  found: readonly Group[];
  all: readonly Entry[];
  active: number;
  onChoose: (entry: Entry) => void;
}

function Options({ found, all, active, onChoose }: OptionsProps) {
  return (
    <div id={PALETTE_LIST} class={css['list']} role="listbox" aria-label={words.found}>
      {found.map(({ name, entries }) => (
        <div key={name} role="group" aria-label={name}>
          <p class={css['group']} aria-hidden="true">
            {name}
          </p>
          {entries.map((entry) => {
            const at = all.indexOf(entry);
            return (
              // The field keeps the focus and the keys; a click is the mouse's way to the same.
              <div
                key={entry.id}
                id={optionId(at)}
                role="option"
                aria-selected={at === active}
                class={css['option']}
                onPointerDown={(event) => event.preventDefault()}
                onClick={() => onChoose(entry)}
              >
                <span class={css['label']}>
                  {entry.label} <span class="muted">{entry.detail}</span>
                </span>
                <span aria-hidden="true">
                  {entry.keys?.map((key) => (
                    <kbd key={key}>{keyName(key, isMac)}</kbd>
                  ))}
                </span>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

/** Keys that only move, which a name would not make quicker. */
const MOVES = new Set(['j', 'k', 'ArrowLeft', 'ArrowRight', 'Escape']);

/** What the keys of the screen do. */
function actions(): Entry[] {
  return keyLines(shortcutsOf('screen').filter(({ key }) => !MOVES.has(key))).map(({ text, keys }) => ({
    id: `screen ${text}`,
    group: groups.screen,
    label: text,
    keys,
    act: () => void press(keys[0] ?? ''),
  }));
}

function views(): Entry[] {
  return SCREENS.filter(({ needs }) => mayCall(needs)).flatMap(({ name: list }) =>
    (choices.value.views[list] ?? []).map(({ name, query }) => ({
      id: `view ${list} ${name}`,
      group: groups.views,
      label: name,
      detail: shellWords.screens[list],
      act: () => navigateAndFocus(viewAddress(list, query)),
    })),
  );
}

function places(): Entry[] {
  const go = (label: string, address: string, more: Partial<Entry> = {}): Entry => ({
    id: `go ${address}`,
    group: groups.go,
    label,
    act: () => navigateAndFocus(address),
    ...more,
  });
  return [
    ...SCREENS.filter(({ needs }) => mayCall(needs)).map(({ name, key }) =>
      go(shellWords.screens[name], homeAddress(name), { keys: [key] }),
    ),
    ...PARTS.filter((part) => mayCall(NEEDS[part])).map((part) =>
      go(settingsWords.parts[part], settingsAddress(part), { detail: shellWords.settings }),
    ),
    go(words.reference, '/docs', { act: () => location.assign('/docs') }),
  ];
}

function others(): Entry[] {
  const act = (label: string, deed: () => void, keys: string[] = []): Entry => ({
    id: `do ${label}`,
    group: groups.do,
    label,
    keys,
    act: deed,
  });
  return [
    ...(mayCall('createWorkflow')
      ? [act(words.newWorkflow, () => navigateAndFocus(editorAddress(null)))]
      : []),
    ...(mayCall('createAgent')
      ? [act(words.registerAgent, () => navigateAndFocus(agentAddress('new')))]
      : []),
    act(shellWords.theme, () => void press('t'), ['t']),
    act(shellWords.keys, () => void press('?'), ['?']),
    act(shellWords.logOut, () => void logOut().catch((error: unknown) => complain(detailOf(error)))),
  ];
}

/** In the order in which they were found. */
function grouped(entries: readonly Entry[]): Group[] {
  return [...new Set(entries.map(({ group }) => group))].map((name) => ({
    name,
    entries: entries.filter(({ group }) => group === name),
  }));
}
