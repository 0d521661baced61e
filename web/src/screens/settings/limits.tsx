/** What the user, their teams and the platform may have, and what is used of it. */
import type { QuotaState } from '../../../../client/index.ts';
import { query } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { user } from '../../data/session.ts';
import { knownTeams } from '../../data/teams.ts';
import { amountText } from '../../ui/budget/amounts.ts';
import { Choice, type Option } from '../../ui/filters.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { words } from './quota-words.ts';
import css from './settings.module.css';

const PLATFORM = 'platform';

export function LimitsPart() {
  const of = query.value['of'] ?? '';
  const asked = of === '' ? {} : of === PLATFORM ? { platform: true } : { team_id: of };
  const { data, error } = useQuery({
    queryKey: ['limits', of],
    queryFn: ({ signal }) => client.call('getUsageLimits', { query: asked, signal }),
  });
  const isAdmin = user.value?.roles.includes('admin') === true;
  const options: Option[] = [
    ['', words.mine],
    ...knownTeams().map(({ id, name }): Option => [id, name]),
    ...(isAdmin ? [[PLATFORM, words.platform] satisfies Option] : []),
  ];
  return (
    <>
      <p class="muted">{words.help}</p>
      {options.length > 1 && (
        <search class={page['filters']}>
          <Choice name="of" label={words.of} value={of} options={options} />
        </search>
      )}
      {error !== null && <ProblemText error={error} />}
      {data && (
        <Table
          label={words.limits}
          columns={columns}
          records={data.limits}
          keyOf={({ name }: QuotaState) => name}
        />
      )}
    </>
  );
}

const columns: Column<QuotaState>[] = [
  { title: words.limit, cell: ({ name }) => words.names[name] },
  {
    title: words.share,
    minor: true,
    cell: ({ used, limit }) => (
      <span
        class={css['usageBar']}
        style={{ inlineSize: `${limit === null ? 0 : Math.min(100, (100 * used) / limit)}%` }}
      />
    ),
  },
  {
    title: words.used,
    cell: ({ used, limit, per }) => (
      <>
        {`${amountText(used)} / ${limit === null ? words.noLimit : amountText(limit)}`}
        {per !== null && <span class="muted"> ({words.most})</span>}
      </>
    ),
    long: true,
  },
  { title: words.from, cell: ({ own, setting }) => (own ? words.own : setting), minor: true },
];
