/** Whose records a list shows: for administrators, to whom it shows what all people have. */
import { path, query, setQuery } from '../app/router.ts';
import { addressOf } from '../app/routes.ts';
import { personName } from '../data/people.ts';
import { seesAll, user } from '../data/session.ts';
import { teamName } from '../data/teams.ts';
import { Choice, type Option } from './filters.tsx';
import { words } from './owner-words.ts';
import { PersonFilter } from './person-filter.tsx';
import type { Column } from './table.tsx';

const OWN: readonly Option[] = [
  ['', words.everybodys],
  ['me', words.mine],
];

/** The parameter `owner` of the address: nothing, `me`, or the id of a person. */
export function OwnerFilter() {
  if (!seesAll()) return null;
  const { owner = '' } = query.value;
  const isKnown = OWN.some(([value]) => value === owner);
  return (
    <>
      <Choice
        name="owner"
        label={words.owner}
        value={owner}
        options={isKnown ? OWN : [...OWN, [owner, ownerText(owner)]]}
      />
      <PersonFilter
        id="owner"
        label={words.person}
        hint={words.personHint}
        value={isKnown ? '' : owner}
        onChoose={(id) => setQuery({ owner: id === '' ? undefined : id })}
      />
    </>
  );
}

function ownerText(owner: string): string {
  return OWN.find(([value]) => value === owner)?.[1] ?? words.of(personName(owner));
}

/** The filter of the list; empty for those who have no choice. */
export function ownerQuery(): { owner_id?: string } {
  const { owner = '' } = query.value;
  return owner === '' || !seesAll() ? {} : { owner_id: owner };
}

/** The chosen team and person in words; '' if nothing is chosen. */
export function holderText(): string {
  const { team = '' } = query.value;
  const { owner_id: owner } = ownerQuery();
  return [...(team === '' ? [] : [teamName(team)]), ...(owner === undefined ? [] : [ownerText(owner)])].join(
    ', ',
  );
}

/** The parameters that choose neither. */
export const ANY_HOLDER = { team: undefined, owner: undefined };

/** Whether the list is that of another person, for whom the user cannot make anything. */
export function isOfAnother(): boolean {
  const { owner_id: owner = 'me' } = ownerQuery();
  return owner !== 'me' && owner !== user.value?.id;
}

interface Held {
  owner_id: string;
  team_id: string | null;
}

/** Who has a record; the name narrows the list to what that person has. None for those who have no choice. */
export function ownerColumns<T extends Held>(): Column<T>[] {
  if (!seesAll()) return [];
  return [
    {
      title: words.column,
      minor: true,
      cell: ({ owner_id: id, team_id: team }) => (
        <>
          <div>
            <a href={addressOf(path.value, { ...query.value, owner: id })}>{personName(id)}</a>
          </div>
          {team !== null && <div class="muted">{teamName(team)}</div>}
        </>
      ),
    },
  ];
}
