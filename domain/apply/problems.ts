/** What is wrong with resources of a set. */
import { AppError, type FieldError } from '../errors.ts';
import type { ResourceKind } from './resources.ts';

/** A problem of a resource; `pointer` leads into the request. */
export interface ResourceProblem extends FieldError {
  kind: ResourceKind;
  name: string;
}

/** In messages. */
export const KIND_WORDS: Readonly<Record<ResourceKind, string>> = {
  agent: 'agent',
  workflow: 'workflow',
  webhook: 'webhook',
  hook: 'inbound webhook',
  event_source: 'record of the event source',
};

/** Where the name of a resource is. */
export const namePointer = (kind: ResourceKind): string => (kind === 'event_source' ? '/source' : '/name');

/** Where an error of a whole resource is. */
export function pointerOf(kind: ResourceKind, code: string): string {
  if (kind === 'agent' && code.startsWith('version_')) return '/version';
  return code === 'source_bound' || code === 'source_exists' ? '/source' : '';
}

export function refusal(problems: readonly ResourceProblem[]): AppError {
  const detail = 'Nothing was applied, because some resources have problems.';
  const errors = problems.map(({ pointer, code, message }) => ({ pointer, code, message }));
  return new AppError('invalid', 'not_applicable', detail, { errors, extra: { problems } });
}
