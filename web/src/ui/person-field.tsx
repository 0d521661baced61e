/** A field for a person, whom the directory suggests. */
import type { Person } from '../../../client/index.ts';
import { nameOf, searchPeople } from '../data/people.ts';
import { useQuery } from '../data/query.ts';
import { Avatar } from './avatar.tsx';
import { Combobox, type FieldAttributes } from './combobox.tsx';
import { drawnBy, type OwnControl, type Schema } from './schema-form/fields.ts';
import { words } from './words.ts';

interface Props extends FieldAttributes {
  /** What was entered: a username, or a part of a name. */
  value: string;
  onText: (text: string) => void;
  /** Ids of people who are not suggested. */
  without?: readonly string[];
  /** Default: the username is the text. */
  onChoose?: (person: Person) => void;
  /** When the field is left, and at Enter without a suggestion. */
  onEntered?: () => void;
}

/** More are found by typing. */
const SUGGESTED = 8;
const MAX_PAGE = 200;
const MAX_USERNAME = 255;

/** A field of a form for a username. */
export function personSchema(title: string, description?: string): Schema {
  const schema = { type: 'string', title, ...(description === undefined ? {} : { description }) };
  return drawnBy(OwnPersonField, schema);
}

function OwnPersonField({ label: _label, ...field }: OwnControl) {
  return <PersonField {...field} />;
}

/** People for what was typed; undefined until the first are known. */
function useSuggestedPeople(typed: string, without: readonly string[] = []): Person[] | undefined {
  const text = typed.trim();
  const { data, isPlaceholderData } = useQuery({
    queryKey: ['search people', text, without.length],
    // As many more as may be left out.
    queryFn: ({ signal }) => searchPeople(text, Math.min(SUGGESTED + without.length, MAX_PAGE), signal),
    placeholderData: (last) => last,
  });
  // Those for what was typed before: Enter must choose none of them that does not fit any more.
  const fits = (person: Person) => !isPlaceholderData || hasText(person, text);
  return data?.filter((person) => fits(person) && !without.includes(person.id)).slice(0, SUGGESTED);
}

function hasText(person: Person, text: string): boolean {
  return [person.username, nameOf(person)].some((name) => name.toLowerCase().includes(text.toLowerCase()));
}

export function PersonField({ without = [], onChoose, value, onText, ...field }: Props) {
  const found = useSuggestedPeople(value, without);
  const people = found ?? [];
  return (
    <Combobox
      {...field}
      listLabel={words.people}
      suggestions={people.map((person) => ({
        value: person.username,
        label: nameOf(person),
        detail: person.display_name === null ? '' : person.username,
        picture: <Avatar {...person.avatar} />,
      }))}
      status={found === undefined ? '' : words.peopleFound(people.length)}
      maxLength={MAX_USERNAME}
      value={value}
      onText={onText}
      onChoose={(username) => {
        const chosen = people.find((person) => person.username === username);
        if (onChoose === undefined || chosen === undefined) onText(username);
        else onChoose(chosen);
      }}
    />
  );
}
