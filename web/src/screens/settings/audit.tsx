/** The audit log: for admins all of it, for admins of a team that of the team, for others what they did. */
import { useSignal } from '@preact/signals';

import type { AuditEntry } from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { user } from '../../data/session.ts';
import { teamName } from '../../data/teams.ts';
import { ListState } from '../../ui/list-state.tsx';
import { isNarrow } from '../../ui/narrow.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { When } from '../../ui/when.tsx';
import { AuditCheck } from './audit-check.tsx';
import { AuditEntryDialog } from './audit-entry.tsx';
import { actionText, filterOf, NO_FILTER, type AuditFilter } from './audit-filter.ts';
import { AuditFilters } from './audit-filters.tsx';
import { words } from './audit-words.ts';
import css from './settings.module.css';
import { words as settingsWords } from './words.ts';

export function Audit() {
  const filter = filterOf(query.value);
  const opened = useSignal<AuditEntry | null>(null);
  const isAdmin = user.value?.roles.includes('admin') === true;
  const { team_id: team } = filter;
  const list = usePages(['audit', JSON.stringify(filter)], (cursor) =>
    client.page('listAudit', { query: { ...filter, limit: 100, cursor: cursor ?? undefined } }),
  );
  return (
    <>
      <p class="muted">{helpFor(team, isAdmin)}</p>
      {isAdmin && (
        <div>
          <AuditCheck />
        </div>
      )}
      <AuditFilters filter={filter} entries={list.items.value} isAdmin={isAdmin} />
      <ListState
        list={list}
        filter={filterText(filter)}
        onClear={() => setQuery(NO_FILTER)}
        empty={<p>{words.none}</p>}
      >
        <Table
          label={settingsWords.parts.audit}
          columns={columns((entry) => (opened.value = entry))}
          records={list.items.value}
          keyOf={({ id }: AuditEntry) => id}
        />
      </ListState>
      <AuditEntryDialog entry={opened.value} onClose={() => (opened.value = null)} />
    </>
  );
}

function helpFor(team: string | undefined, isAdmin: boolean): string {
  if (team !== undefined) return words.helpTeam;
  return isAdmin ? words.helpAdmin : words.help;
}

/** A team by its name. */
function filterText({ team_id: team, ...filter }: AuditFilter): string {
  return [...(team === undefined ? [] : [teamName(team)]), ...Object.values(filter)].join(', ');
}

function changedIn({ fields, changes }: AuditEntry): string {
  return [...new Set([...fields, ...Object.keys(changes)])].join(', ');
}

/** On a phone, also how it ended and to what kind of object it was done, which have no columns there. */
function whatIn({ action, outcome, object }: AuditEntry) {
  const more = [words.outcomes[outcome], ...(object === null ? [] : [object.type])];
  return (
    <>
      <span title={action}>{actionText(action)}</span>
      {isNarrow.value && <div class="muted">{more.join(' · ')}</div>}
    </>
  );
}

const columns = (open: (entry: AuditEntry) => void): Column<AuditEntry>[] => [
  { title: words.when, cell: ({ at }) => <When at={at} /> },
  {
    title: words.who,
    // Of an erased account it is long.
    cell: ({ actor }) => <span class={css['name']}>{actor?.username ?? actor?.id ?? '–'}</span>,
  },
  { title: words.what, cell: whatIn, wrap: true },
  { title: words.outcome, cell: ({ outcome }) => words.outcomes[outcome], minor: true },
  {
    title: words.of,
    cell: ({ object }) => (object === null ? '' : `${object.type} ${object.id ?? ''}`),
    text: true,
    minor: true,
  },
  { title: words.changed, cell: changedIn, text: true, minor: true },
  { title: words.address, cell: ({ address }) => address ?? '–', minor: true },
  {
    title: words.acts,
    acts: true,
    cell: (entry) => (
      <button type="button" onClick={() => open(entry)}>
        {words.open}
      </button>
    ),
  },
];
