/** What agents have used: a table with small bars. */
import type { Usage } from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { user } from '../../data/session.ts';
import { nowMs } from '../../ui/clock.ts';
import { amountText } from '../../ui/budget/amounts.ts';
import { Choice, type Option } from '../../ui/filters.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import css from './settings.module.css';
import { words } from './spending-words.ts';

// Safe: they are the table's own names.
const BYS = Object.keys(words.bys) as (keyof typeof words.bys)[];
const DAYS = ['7', '30', '365'] as const;
const DAY_MS = 86_400_000;

export function UsagePart() {
  const by = BYS.find((one) => one === query.value['by']) ?? 'day';
  const days = DAYS.find((one) => one === query.value['days']) ?? '30';
  const from = new Date(
    Math.floor(nowMs.peek() / DAY_MS) * DAY_MS - (Number(days) - 1) * DAY_MS,
  ).toISOString();
  const list = usePages(['usage', by, from], (cursor) =>
    client.page('listUsage', { query: { by, from, limit: 100, cursor: cursor ?? undefined } }),
  );
  const most = Math.max(0, ...list.items.value.map(barOf));
  return (
    <>
      <p class="muted">{user.value?.roles.includes('admin') ? words.usageHelpAdmin : words.usageHelp}</p>
      <search class={page['filters']}>
        <Choice
          name="by"
          label={words.by}
          value={by}
          options={BYS.map((one): Option => [one, words.bys[one]])}
        />
        <Choice
          name="days"
          label={words.since}
          value={days}
          options={DAYS.map((one): Option => [one, words.days[one]])}
        />
        <a href={`/usage/csv?${new URLSearchParams({ by, from }).toString()}`} download="usage.csv">
          {words.csv}
        </a>
      </search>
      <ListState
        list={list}
        filter=""
        onClear={() => setQuery({ by: undefined })}
        empty={<p>{words.noUsage}</p>}
      >
        <Table
          label={words.bys[by]}
          columns={columns(by, most)}
          records={list.items.value}
          keyOf={({ key }: Usage) => key}
        />
      </ListState>
    </>
  );
}

/** What a bar shows: the cost where one is known, else the invocations. */
function barOf({ cost_usd: cost, invocations }: Usage): number {
  return cost !== null && cost > 0 ? cost : invocations / 1e9;
}

function columns(by: keyof typeof words.bys, most: number): Column<Usage>[] {
  return [
    { title: words.bys[by], cell: ({ key, name }) => name ?? (key === '' ? words.none : key) },
    {
      title: words.share,
      minor: true,
      cell: (usage) => (
        <span
          class={css['usageBar']}
          style={{ inlineSize: `${most === 0 ? 0 : (100 * barOf(usage)) / most}%` }}
        />
      ),
    },
    { title: words.invocations, cell: ({ invocations }) => amountText(invocations) },
    { title: words.input, cell: ({ input_tokens: tokens }) => amountText(tokens), minor: true },
    { title: words.output, cell: ({ output_tokens: tokens }) => amountText(tokens), minor: true },
    {
      title: words.cost,
      end: true,
      cell: ({ cost_usd: cost, unpriced }) => (
        <>
          {cost === null ? words.unknown : amountText(cost)}
          {cost !== null && unpriced > 0 && <span class="muted"> {words.without(unpriced)}</span>}
        </>
      ),
    },
  ];
}
