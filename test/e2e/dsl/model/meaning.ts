/** The expected result of a plan, by the specification alone: nothing of the product is used here. */
import type { Step, Test } from './plan.ts';

export interface Data {
  n: number;
  path: string[];
}

type Context = Record<string, number>;

export type Meaning = { data: Data; context: Context } | { status: number; instance: string };

class Raised extends Error {
  readonly status: number;
  readonly instance: string;
  constructor(status: number, instance: string) {
    super(`raised at ${instance}`);
    this.status = status;
    this.instance = instance;
  }
}

/** The `$context` of a run or of a branch. */
interface Holder {
  context: Context;
}

interface Result {
  data: Data;
  end: boolean;
}

export function meaningOf(plan: Step[], input: Data): Meaning {
  const holder: Holder = { context: {} };
  try {
    const { data } = runList(plan, '/do', input, holder);
    return { data, context: holder.context };
  } catch (error) {
    if (error instanceof Raised) return { status: error.status, instance: error.instance };
    throw error;
  }
}

const holds = ({ by, rest }: Test, { n }: Data): boolean => n % by === rest;

function runList(steps: Step[], place: string, input: Data, holder: Holder): Result {
  let data = input;
  for (let i = 0; i < steps.length;) {
    const step = steps[i];
    if (!step) break;
    const result = runStep(step, `${place}/${i}/${step.name}`, data, holder);
    data = result.data;
    const { then } = result;
    if (then === 'end') return { data, end: true };
    if (then === 'exit') break;
    i = then === 'continue' ? i + 1 : steps.findIndex(({ name }) => name === then);
  }
  return { data, end: false };
}

function runStep(step: Step, place: string, input: Data, holder: Holder): { data: Data; then: string } {
  if (step.if && !holds(step.if, input)) return { data: input, then: 'continue' };
  const { data, then } = runKind(step, place, input, holder);
  if (step.exports) holder.context = { ...holder.context, [step.name]: data.n };
  return { data, then: then ?? step.then ?? 'continue' };
}

function runKind(
  { name, kind }: Step,
  place: string,
  input: Data,
  holder: Holder,
): { data: Data; then?: string } {
  switch (kind.is) {
    case 'set':
      return { data: { n: (input.n + kind.add) % 97, path: [...input.path, name] } };
    case 'wait':
      return { data: input };
    case 'do':
      return ended(runList(kind.list, `${place}/do`, input, holder));
    case 'for': {
      let data = input;
      for (let i = 0; i < kind.times; i++) {
        if (kind.while && !holds(kind.while, data)) break;
        const result = runList(kind.list, `${place}/do`, data, holder);
        if (result.end) return ended(result);
        data = result.data;
      }
      return { data };
    }
    case 'fork':
      return { data: fork(kind.branches, place, input, holder) };
    case 'raise':
      throw new Raised(kind.status, place);
    case 'switch': {
      const found = kind.cases.find(({ when }) => holds(when, input))?.then ?? kind.otherwise;
      return found === undefined ? { data: input } : { data: input, then: found };
    }
    case 'try':
      return attempt(kind, place, input, holder);
  }
}

const ended = ({ data, end }: Result): { data: Data; then?: string } =>
  end ? { data, then: 'end' } : { data };

/** Each branch starts with the context of the fork; their changes are merged in their order. */
function fork(branches: Step[], place: string, input: Data, holder: Holder): Data {
  const base = holder.context;
  const results = branches.map((branch, i) => {
    const own: Holder = { context: base };
    return { own, data: runStep(branch, `${place}/fork/branches/${i}/${branch.name}`, input, own).data };
  });
  for (const { own } of results) {
    for (const [key, value] of Object.entries(own.context))
      if (value !== base[key]) holder.context = { ...holder.context, [key]: value };
  }
  return {
    n: results.reduce((sum, { data }) => sum + data.n, 0) % 97,
    path: results.flatMap(({ data }) => data.path),
  };
}

function attempt(
  kind: Extract<Step['kind'], { is: 'try' }>,
  place: string,
  input: Data,
  holder: Holder,
): { data: Data; then?: string } {
  const before = holder.context;
  for (let retry = 0; ; retry++) {
    try {
      return ended(runList(kind.list, `${place}/try`, input, holder));
    } catch (error) {
      if (!(error instanceof Raised)) throw error;
      if (kind.status !== undefined && kind.status !== error.status) throw error;
      if (kind.retries !== undefined && retry < kind.retries) {
        holder.context = before;
        continue;
      }
      if (kind.retries !== undefined && !kind.handler && kind.catchThen === undefined) throw error;
      const { data, then } = kind.handler
        ? ended(runList(kind.handler, `${place}/catch/do`, input, holder))
        : { data: input };
      const next = then ?? kind.catchThen;
      return next === undefined ? { data } : { data, then: next };
    }
  }
}
