/** The audit log: for admins all of it, for others what they did themselves. */
import type { AuditEntry } from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { user } from '../../data/session.ts';
import { Choice, type Option } from '../../ui/filters.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { When } from '../../ui/when.tsx';
import { words } from './access-words.ts';
import { words as settingsWords } from './words.ts';

// Safe: they are the table's own names.
const OUTCOMES = Object.keys(words.outcomes) as (keyof typeof words.outcomes)[];

export function Audit() {
  const outcome = OUTCOMES.find((one) => one === query.value['outcome']);
  const list = usePages(['audit', outcome ?? ''], (cursor) =>
    client.page('listAudit', { query: { outcome, limit: 100, cursor: cursor ?? undefined } }),
  );
  return (
    <>
      <p class="muted">{user.value?.roles.includes('admin') ? words.auditHelpAdmin : words.auditHelp}</p>
      <search class={page['filters']}>
        <Choice
          name="outcome"
          label={words.outcome}
          value={outcome ?? ''}
          options={[['', words.anyOutcome], ...OUTCOMES.map((one): Option => [one, words.outcomes[one]])]}
        />
        <a href="/audit/export?format=csv" download="audit.csv">
          {words.download}
        </a>
      </search>
      <ListState
        list={list}
        filter={outcome === undefined ? '' : words.outcomes[outcome]}
        onClear={() => setQuery({ outcome: undefined })}
        empty={<p>{words.noEntries}</p>}
      >
        <Table
          label={settingsWords.parts.audit}
          columns={COLUMNS}
          records={list.items.value}
          keyOf={({ id }: AuditEntry) => id}
        />
      </ListState>
    </>
  );
}

function changedIn({ fields, changes }: AuditEntry): string {
  return [...new Set([...fields, ...Object.keys(changes)])].join(', ');
}

const COLUMNS: Column<AuditEntry>[] = [
  { title: words.when, cell: ({ at }) => <When at={at} /> },
  { title: words.who, cell: ({ actor }) => actor?.username ?? actor?.id ?? '–' },
  { title: words.what, cell: ({ action }) => <code>{action}</code> },
  { title: words.outcome, cell: ({ outcome }) => words.outcomes[outcome] },
  {
    title: words.of,
    cell: ({ object }) => (object === null ? '' : `${object.type} ${object.id ?? ''}`),
    text: true,
  },
  { title: words.changed, cell: changedIn, text: true, minor: true },
  { title: words.address, cell: ({ address }) => address ?? '–', minor: true },
];
