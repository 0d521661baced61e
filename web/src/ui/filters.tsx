/** Controls of a list's filter: each is a parameter of the address. */
import { setQuery } from '../app/router.ts';
import { isTouch } from './touch.ts';
import { words } from './words.ts';

/** What was chosen in the list may not be in the next one. */
function filterBy(name: string, value: string | undefined, how: 'push' | 'replace' = 'push'): void {
  setQuery({ [name]: value, task: undefined }, how);
}

interface SearchProps {
  label: string;
  value: string;
}

/** The key / leads here, and Esc out again. */
export function SearchField({ label, value }: SearchProps) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={words.searchHint(isTouch.value)}
      maxLength={255}
      value={value}
      onInput={({ currentTarget }) => filterBy('q', currentTarget.value, 'replace')}
      onKeyDown={({ key, currentTarget }) => {
        if (key === 'Escape') currentTarget.blur();
      }}
    />
  );
}

export type Option = readonly [value: string, text: string];

interface ChoiceProps {
  /** The parameter. */
  name: string;
  label: string;
  value: string;
  options: readonly Option[];
  /** Is not in the address. */
  standard?: string;
}

export function Choice({ name, label, value, options, standard = '' }: ChoiceProps) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget: { value: chosen } }) =>
        filterBy(name, chosen === standard ? undefined : chosen)
      }
    >
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface CheckProps {
  name: string;
  /** Of the parameter, if the box is checked. */
  value: string;
  isOn: boolean;
  text: string;
  class: string | undefined;
}

export function Check({ name, value, isOn, text, class: style }: CheckProps) {
  return (
    <label class={style}>
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => filterBy(name, currentTarget.checked ? value : undefined)}
      />
      {text}
    </label>
  );
}
