/** For administrators, to whom a list shows what all people have: whose records it shows. */
import { query } from '../app/router.ts';
import { settingsAddress, type SettingsPart } from '../app/routes.ts';
import { personName } from '../data/people.ts';
import { user } from '../data/session.ts';
import { teamName } from '../data/teams.ts';
import { Choice, type Option } from './filters.tsx';
import { words } from './owner-words.ts';
import type { Column } from './table.tsx';

/** Whether lists show the user what all people have. */
export function seesAll(): boolean {
  return user.value?.roles.includes('admin') === true;
}

/** The parameter `owner` of the address: nothing, `me`, or the id of a person. */
export function OwnerFilter() {
  if (!seesAll()) return null;
  const { owner = '' } = query.value;
  const known: Option[] = [
    ['', words.everybodys],
    ['me', words.mine],
  ];
  const isKnown = known.some(([value]) => value === owner);
  return (
    <Choice
      name="owner"
      label={words.owner}
      value={owner}
      options={isKnown ? known : [...known, [owner, words.of(personName(owner))]]}
    />
  );
}

/** The filter of the list; empty for those who have no choice. */
export function ownerQuery(): { owner_id?: string } {
  const { owner = '' } = query.value;
  return owner === '' || !seesAll() ? {} : { owner_id: owner };
}

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
export function ownerColumns<T extends Held>(part: SettingsPart): Column<T>[] {
  if (!seesAll()) return [];
  return [
    {
      title: words.column,
      minor: true,
      cell: ({ owner_id: id, team_id: team }) => (
        <>
          <a href={settingsAddress(part, { owner: id })}>{personName(id)}</a>
          {team === null ? '' : ` (${teamName(team)})`}
        </>
      ),
    },
  ];
}
