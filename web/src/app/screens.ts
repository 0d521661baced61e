/** The screens that the navigation names, and where each opens: at its default view, if there is one. */
import { effect } from '@preact/signals';

import type { OperationId } from '../../../client/index.ts';
import { choices } from '../data/preferences.ts';
import { navigate, path, query } from './router.ts';
import {
  addressOf,
  agentsAddress,
  BASE,
  inboxAddress,
  marketplaceAddress,
  runsAddress,
  workflowsAddress,
  type Query,
  type Route,
} from './routes.ts';

/** A screen is offered to whose role may read what it shows. */
export const SCREENS = [
  { name: 'inbox', key: 'g i', parts: [], needs: 'listHumanTasks', address: inboxAddress },
  { name: 'runs', key: 'g r', parts: ['run'], needs: 'listRuns', address: runsAddress },
  {
    name: 'workflows',
    key: 'g w',
    parts: ['workflow', 'editor'],
    needs: 'listWorkflows',
    address: workflowsAddress,
  },
  {
    name: 'agents',
    key: 'g a',
    parts: ['agent', 'agent-new', 'agent-edit'],
    needs: 'listAgents',
    address: agentsAddress,
  },
  {
    name: 'marketplace',
    key: 'g m',
    parts: ['market-item', 'market-reviews'],
    needs: 'listMarketplaceItems',
    address: marketplaceAddress,
  },
] as const satisfies readonly {
  name: Route['screen'];
  /** Goes there. */
  key: string;
  parts: readonly Route['screen'][];
  needs: OperationId;
  address: () => string;
}[];

export type ListName = (typeof SCREENS)[number]['name'];

/** The address of a saved view. */
export function viewAddress(list: ListName, saved: string): string {
  const screen = SCREENS.find(({ name }) => name === list);
  return addressOf(screen?.address() ?? inboxAddress(), Object.fromEntries(new URLSearchParams(saved)));
}

/** Where a list opens. */
export function homeAddress(list: ListName): string {
  const view = choices.value.views[list]?.find(({ isDefault }) => isDefault);
  return viewAddress(list, view?.query ?? '');
}

/** What of the address is a filter, in a fixed order: the chosen task is not. */
export function filterIn(parameters: Query): string {
  const given = Object.entries(parameters).filter(([name]) => name !== 'task');
  return new URLSearchParams(given.toSorted(([left], [right]) => (left < right ? -1 : 1))).toString();
}

// The address without a screen leads to the default view of the first one.
effect(() => {
  const home = homeAddress('inbox');
  const isBare = path.value.replace(/\/$/, '') === BASE && Object.keys(query.value).length === 0;
  if (isBare && home !== inboxAddress()) navigate(home, 'replace');
});
