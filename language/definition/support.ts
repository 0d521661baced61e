/**
 * DSL features that are recognised but not supported yet, with alternatives. Remove a line once the feature
 * works.
 */
import type { Problems } from './problems.ts';

/** Hints name only what works today, because users act on them. */
export const INSTEAD = {
  'run.return':
    'a child workflow has no process streams: omit "return", then the output is that of the workflow, or ' +
    'write "none"',
  'grpc.file':
    'a .proto document is fetched over http or https: serve it there, or omit "proto" if the server offers ' +
    'reflection',
  'schedule.combined': 'a schedule has one of "every", "cron", "after" and "on": write a workflow for each',
  'evaluate.language': 'expressions are jq: other languages are not supported',
  'schema.format': 'only JSON Schema (format: json) is supported',
  'auth.grant':
    'this grant needs a person at a browser, or a token from one: use client_credentials, password or ' +
    'token exchange, or bearer with a token from the secrets',
  dsl: 'only version 1.0.x of the DSL is supported: set document.dsl to 1.0.3',
} as const;

export type Unsupported = keyof typeof INSTEAD;

/** Reports a feature that makes a definition valid but not runnable. */
export function unsupported(checker: { problems: Problems }, pointer: string, feature: Unsupported): void {
  checker.problems.unsupported(pointer, `unsupported_${feature.replaceAll('.', '_')}`, INSTEAD[feature]);
}
