import { z } from 'zod';
import {
  CATALOG_FUNCTIONS,
  catalogName,
  FUNCTION_FACTS,
  isCatalogFunction,
  parseFunctionName,
  resolveCallee,
  RUNNABLE_FUNCTIONS,
} from '../call-function.ts';
import type { Checker } from '../checker.ts';
import { anything, name, taskBase } from '../common-shapes.ts';
import type { CallFunction } from '../model.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { at, own, quote } from '../problems.ts';
import { functionAddress } from '../resources.ts';
import { exact } from '../shape.ts';
import { closest } from '../../../contracts/suggest.ts';
import { unsupported } from '../support.ts';
import { a2aCall } from './call-a2a.ts';
import { agentCall } from './call-agent.ts';
import { asyncapiCall } from './call-asyncapi.ts';
import { grpcCall } from './call-grpc.ts';
import { httpCall } from './call-http.ts';
import { humanCall } from './call-human.ts';
import { mapCall } from './call-map.ts';
import { mcpCall } from './call-mcp.ts';
import { openapiCall } from './call-openapi.ts';
import { inTask, type Call, type Kind } from './kind.ts';

export const CALLS: Readonly<Record<CallFunction, Call>> = {
  http: httpCall,
  agent: agentCall,
  human: humanCall,
  map: mapCall,
  openapi: openapiCall,
  grpc: grpcCall,
  asyncapi: asyncapiCall,
  a2a: a2aCall,
  mcp: mcpCall,
};

export const functionShape = exact({
  ...taskBase,
  call: name,
  with: z.record(z.string(), z.unknown()).optional(),
});
const unknownShape = exact({ ...taskBase, call: name, with: anything.optional() });
export const CALL_SHAPES: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries(CALLS).map(([called, call]) => [
    called,
    exact({ ...taskBase, call: name, with: call.arguments }),
  ]),
);

/** Shape of a call, which depends on the function it calls. */
export function callShape(task: Record<string, unknown>, functions: readonly string[]): z.ZodType {
  const callee = calleeOf(task['call'], functions);
  if (callee === undefined) return unknownShape;
  return callee.kind === 'function' ? functionShape : (CALL_SHAPES.get(callee.name) ?? unknownShape);
}

function calleeOf(call: unknown, functions: readonly string[]): ReturnType<typeof resolveCallee> {
  if (typeof call !== 'string') return undefined;
  return resolveCallee(call, functions);
}

export const callKind: Pick<Kind, 'check'> = {
  check(task, pointer, locals, checker) {
    const { call } = task;
    if (typeof call !== 'string' || call === '') return;
    const callee = calleeOf(call, checker.use.functions);
    const parameters = task['with'];
    const place = at(pointer, 'with');
    if (callee === undefined) return checkFetched(call, pointer, parameters, locals, checker);
    if (callee.kind === 'function') {
      checker.refuseOwnFunction(callee.name, at(pointer, 'call'));
      return checker.template(parameters, place, inTask(locals));
    }
    const { notYet } = FUNCTION_FACTS[callee.name];
    if (notYet !== null) unsupported(checker, at(pointer, 'call'), notYet);
    if (isRecord(parameters)) CALLS[callee.name].check(parameters, place, locals, checker);
  },
};

/** A function by URL or of a catalog; any other name is unknown. */
function checkFetched(
  call: string,
  pointer: string,
  parameters: unknown,
  locals: readonly string[],
  checker: Checker,
): void {
  const address = functionAddress(call, checker.definition);
  if (address === null) return checkUnknown(call, at(pointer, 'call'), checker);
  const authentication = own(address.endpoint, 'authentication');
  const place = at(pointer, 'call');
  const found = checker.resource({
    kind: 'function',
    name: call,
    url: address.url,
    pointer: place,
    authentication,
  });
  if (found !== undefined) {
    checker.problems.error(
      place,
      'not_a_function',
      `${quote(found.url)} is not the definition of a function: it has none of the kinds of tasks`,
    );
  }
  checker.template(parameters, at(pointer, 'with'), inTask(locals));
}

function checkUnknown(call: string, pointer: string, checker: Checker): void {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(call)) {
    checker.problems.error(pointer, 'resource_address', 'a function by URL begins with http:// or https://');
    return;
  }
  const { name: called, version, catalog } = parseFunctionName(call);
  const known = [...checker.use.functions, ...RUNNABLE_FUNCTIONS];
  if (catalog === null) {
    const suggestion = closest(call, known);
    const hint =
      suggestion === undefined ? `; known: ${known.join(', ')}` : `, did you mean "${suggestion}"?`;
    checker.problems.error(pointer, 'unknown_function', `there is no function ${quote(call)}${hint}`);
  } else if (version === null && checker.use.catalogs.includes(catalog)) {
    checker.problems.error(
      pointer,
      'unknown_function',
      `a function of a catalog has a version: write ${called}:<version>@${catalog}`,
    );
  } else if (catalog !== 'default') {
    checker.name('catalogs', catalog, pointer);
  } else if (isCatalogFunction(called)) {
    checker.problems.error(
      pointer,
      'unknown_function',
      `${called} has no version ${quote(version ?? '')}: write ${catalogName(called)} or ${called}`,
    );
  } else {
    const suggestion = closest(called, CATALOG_FUNCTIONS);
    const hint =
      suggestion === undefined
        ? CATALOG_FUNCTIONS.map(catalogName).join(' and ')
        : `did you mean "${catalogName(suggestion)}"?`;
    checker.problems.error(
      pointer,
      'unknown_function',
      `the default catalog has no function ${quote(called)}; ${hint}`,
    );
  }
}

/** The functions of `use.functions` that a task calls, at any depth. */
export function calledFunctions(value: unknown, functions: readonly string[]): string[] {
  const found = new Set<string>();
  const pending: unknown[] = [value];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    if (typeof current !== 'object' || current === null) continue;
    const call = own(current, 'call');
    if (typeof call === 'string' && functions.includes(call)) found.add(call);
    for (const item of Object.values(current)) if (item !== undefined) pending.push(item);
  }
  return [...found];
}
