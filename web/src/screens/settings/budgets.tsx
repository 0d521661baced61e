/** All budgets of the user, with what is used of them. */
import type { BudgetState } from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { agentAddress, runAddress, workflowAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { Amounts, Raise } from '../../ui/budget/budget.tsx';
import { Choice, type Option } from '../../ui/filters.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { words } from './spending-words.ts';

const ADDRESSES = { agent: agentAddress, workflow: workflowAddress, run: runAddress, user: () => null };

export function BudgetsPart() {
  const subject = SUBJECTS.find((one) => one === query.value['subject']);
  const list = usePages(['budgets', subject ?? ''], (cursor) =>
    client.page('listBudgets', { query: { subject, limit: 100, cursor: cursor ?? undefined } }),
  );
  return (
    <>
      <p class="muted">{words.budgetsHelp}</p>
      <search class={page['filters']}>
        <Choice
          name="subject"
          label={words.of}
          value={subject ?? ''}
          options={[['', words.anySubject], ...SUBJECTS.map((one): Option => [one, words.subject[one]])]}
        />
      </search>
      <ListState
        list={list}
        filter={subject === undefined ? '' : words.subject[subject]}
        onClear={() => setQuery({ subject: undefined })}
        empty={<p>{words.noBudgets}</p>}
      >
        <Table
          label={words.used}
          columns={columns(() => list.reload())}
          records={list.items.value}
          keyOf={({ id }) => id}
        />
      </ListState>
    </>
  );
}

const SUBJECTS = ['agent', 'workflow', 'user', 'run'] as const satisfies BudgetState['subject'][];

const columns = (reload: () => Promise<void>): Column<BudgetState>[] => [
  {
    title: words.of,
    cell: ({ subject, id, name }) => {
      const address = ADDRESSES[subject](id);
      const text = `${words.subject[subject]} ${name ?? id}`;
      return address === null ? text : <a href={address}>{text}</a>;
    },
  },
  { title: words.used, cell: (state) => <Amounts state={state} /> },
  { title: words.onExceed, cell: ({ on_exceed: then }) => words[then], minor: true },
  { title: words.acts, acts: true, cell: (state) => <Raise state={state} onRaised={reload} /> },
];
