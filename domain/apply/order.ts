/** The order in which resources are applied: each after those that it names. */
import { isRecord } from '../../contracts/is-record.ts';
import type { Resource } from './resources.ts';

export interface Ordered {
  /** Indices of the resources. */
  order: number[];
  /** For each resource, the indices of those that it names. */
  dependencies: number[][];
  /** Resources that name each other in a circle. */
  circular: number[];
}

export function orderOf(resources: readonly Resource[]): Ordered {
  const indices = new Map(resources.map(({ kind, name }, index) => [`${kind}:${name}`, index]));
  const dependencies = resources.map((resource) =>
    [...namesIn(resource)].flatMap((name) => {
      const index = indices.get(name);
      return index === undefined ? [] : [index];
    }),
  );
  const order: number[] = [];
  const circular = new Set<number>();
  const state = new Map<number, 'open' | 'done'>();
  const visit = (index: number): void => {
    if (state.get(index) === 'done') return;
    if (state.get(index) === 'open') {
      circular.add(index);
      return;
    }
    state.set(index, 'open');
    for (const dependency of dependencies[index] ?? []) visit(dependency);
    state.set(index, 'done');
    order.push(index);
  };
  for (const index of resources.keys()) visit(index);
  return { order, dependencies, circular: [...circular] };
}

/** `kind:name` of what the resource may name. */
function namesIn(resource: Resource): Set<string> {
  if (resource.kind === 'workflow') return agentsIn(resource.fields.definition);
  if (resource.kind !== 'agent') return new Set();
  const workflow = resource.fields.configuration?.['workflow_id'];
  return new Set(typeof workflow === 'string' ? [workflow] : []);
}

/** All texts under the key `agent`. Too many do no harm: they only decide the order. */
function agentsIn(definition: unknown): Set<string> {
  const names = new Set<string>();
  const rest: unknown[] = [definition];
  while (rest.length > 0) {
    const value = rest.pop();
    if (Array.isArray(value)) for (const item of value) rest.push(item);
    else if (isRecord(value)) {
      if (typeof value['agent'] === 'string') names.add(`agent:${value['agent']}`);
      for (const item of Object.values(value)) rest.push(item);
    }
  }
  return names;
}
