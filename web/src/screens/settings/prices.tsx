/** Prices of models, which admins edit. */
import type { CreatePriceRequest, Price } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall } from '../../data/session.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { Removal } from './removal.tsx';
import { words } from './spending-words.ts';

const usd = (title: string) => ({ type: 'number', minimum: 0, title });
const time = (title: string, description: string) => ({
  type: 'string',
  format: 'date-time',
  title,
  description,
});
const schema = {
  type: 'object',
  required: ['model', 'input_per_million_usd', 'output_per_million_usd'],
  properties: {
    model: { type: 'string', title: words.model },
    provider: { type: 'string', title: words.provider, description: words.providerHelp },
    input_per_million_usd: usd(words.perInput),
    cached_input_per_million_usd: usd(words.perCached),
    output_per_million_usd: usd(words.perOutput),
    valid_from: time(words.from, words.fromHelp),
    valid_to: time(words.to, words.toHelp),
  },
};

export function PricesPart() {
  const list = usePages(['prices'], (cursor) =>
    client.page('listPrices', { query: { cursor: cursor ?? undefined, limit: 100 } }),
  );
  const saved = async ({ model }: Price) => {
    await list.reload();
    tell(words.priceSaved(model));
  };
  const remove = async (id: string) => {
    await client.call('deletePrice', { path: { id } });
    await list.reload();
  };
  return (
    <>
      <p class="muted">{words.pricesHelp}</p>
      {mayCall('createPrice') && (
        <div class={page['actions']}>
          <FormDialog
            id="price"
            button={words.newPrice}
            title={words.newPrice}
            submit={words.save}
            schema={schema}
            onSubmit={async (body) => {
              // The form's schema is that of the request.
              await saved(await client.call('createPrice', { body: body as unknown as CreatePriceRequest }));
            }}
          />
        </div>
      )}
      <ListState list={list} empty={<p>{words.noPrices}</p>}>
        <Table
          label={words.perInput}
          columns={columns(saved, remove)}
          records={list.items.value}
          keyOf={({ id }: Price) => id}
        />
      </ListState>
    </>
  );
}

function columns(
  saved: (price: Price) => Promise<void>,
  remove: (id: string) => Promise<void>,
): Column<Price>[] {
  return [
    { title: words.model, cell: ({ model }) => <code>{model}</code> },
    { title: words.provider, cell: ({ provider }) => provider ?? words.anyProvider, minor: true },
    { title: words.perInput, cell: ({ input_per_million_usd: price }) => price },
    { title: words.perCached, cell: ({ cached_input_per_million_usd: price }) => price, minor: true },
    { title: words.perOutput, cell: ({ output_per_million_usd: price }) => price },
    { title: words.from, cell: ({ valid_from: at }) => <When at={at} />, minor: true },
    {
      title: words.acts,
      acts: true,
      cell: (price) =>
        mayCall('replacePrice') && (
          <>
            <FormDialog
              id={`price-${price.id}`}
              button={words.edit}
              title={words.editPrice(price.model)}
              submit={words.save}
              schema={schema}
              values={{ ...price }}
              onSubmit={async (body) => {
                // As above.
                const replaced = body as unknown as CreatePriceRequest;
                await saved(await client.call('replacePrice', { path: { id: price.id }, body: replaced }));
              }}
            />{' '}
            <Removal
              title={words.deletePrice(price.model)}
              text={words.deletePriceText}
              onAct={() => remove(price.id)}
            />
          </>
        ),
    },
  ];
}
