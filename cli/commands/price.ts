/** Prices of models. */
import { buildRouteMap } from '@stricli/core';

import type { Price } from '../../client/index.ts';
import { argument, command, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { flag, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import type { View } from '../core/table.ts';
import { oneLine } from '../core/text.ts';

const priceView: View<Price> = {
  columns: [
    ['id', ({ id }) => id],
    ['model', ({ model }) => oneLine(model)],
    ['provider', ({ provider }) => provider ?? 'any'],
    ['input', ({ input_per_million_usd: usd }) => usd],
    ['cached input', ({ cached_input_per_million_usd: usd }) => usd],
    ['output', ({ output_per_million_usd: usd }) => usd],
    ['from', ({ valid_from: from }) => from],
    ['to', ({ valid_to: to }) => to],
  ],
  name: ({ id }) => id,
  none: 'No prices.',
};

const list = command({
  brief: 'List the prices of models, in US dollars for a million tokens',
  flags: {
    ...listFlags,
    model: text('Only of this model', 'NAME'),
    at: text('Only those valid then', 'TIME'),
  },
  run: async (cli, { model, at, ...flags }) => {
    await cli.requireLogIn();
    const items = cli.client.items('listPrices', {
      query: { model, at, ...pageOf(flags) },
      signal: cli.signal,
    });
    await cli.out.list(await collect(cli, items, flags), priceView);
  },
});

const usd = (given: string | undefined, name: string): number => {
  const value = Number(given ?? Number.NaN);
  if (!(value >= 0)) throw usageError(`Give --${name}: US dollars for a million tokens.`);
  return value;
};

const add = command({
  brief: 'Add the price of a model, from now or from a time on; for admins',
  details: 'With --replace ID it replaces that price. Costs that are booked stay.',
  flags: {
    inputUsd: text('US dollars for a million tokens of input', 'USD'),
    outputUsd: text('US dollars for a million tokens of output', 'USD'),
    cachedInput: text('For input that the provider had kept. Default: as other input', 'USD'),
    provider: text('Only of this provider', 'NAME'),
    from: text('When it begins. Default: now', 'TIME'),
    to: text('When it ends. Default: when a later one begins', 'TIME'),
    replace: text('The price to replace', 'ID'),
  },
  arguments: [argument('MODEL', 'As agents name it')],
  run: async (
    cli,
    { inputUsd: input, outputUsd: output, cachedInput, provider, from, to, replace: id },
    model,
  ) => {
    const body = {
      model,
      input_per_million_usd: usd(input, 'input-usd'),
      output_per_million_usd: usd(output, 'output-usd'),
      ...(cachedInput === undefined
        ? {}
        : { cached_input_per_million_usd: usd(cachedInput, 'cached-input') }),
      ...(provider === undefined ? {} : { provider }),
      ...(from === undefined ? {} : { valid_from: from }),
      ...(to === undefined ? {} : { valid_to: to }),
    };
    const { signal } = cli;
    const price =
      id === undefined
        ? await cli.client.call('createPrice', { body, signal })
        : await cli.client.call('replacePrice', { path: { id }, body, signal });
    await cli.out.record(price, priceView);
  },
});

const get = command({
  brief: 'Show a price',
  arguments: [argument('ID', 'Of the price')],
  run: async (cli, _flags, id) => {
    await cli.out.record(await cli.client.call('getPrice', { path: { id }, signal: cli.signal }), priceView);
  },
});

const remove = command({
  brief: 'Delete a price; for admins',
  flags: { yes: flag('Do not ask') },
  arguments: [argument('ID', 'Of the price')],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Delete the price ${id}?`, yes);
    await cli.client.call('deletePrice', { path: { id }, signal: cli.signal });
    cli.say(`Deleted the price ${id}.`);
  },
});

const routes = { list, get, add, delete: remove };

export const priceCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Prices of models' },
});
