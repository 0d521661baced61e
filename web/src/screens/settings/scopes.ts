/** Scopes in a form: a list to choose from, and workflows by their ids. */
import { SCOPES, SCOPE_TEXTS } from '../../../../contracts/scopes.ts';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { words } from './access-words.ts';

const OPTIONS = SCOPES.map((scope) => ({ const: scope, title: `${scope} – ${SCOPE_TEXTS[scope]}` }));

/** Fields of a form, which `scopesIn` reads. */
export function scopeFields(title: string, help?: string): Record<string, Schema> {
  return {
    scopes: {
      type: 'array',
      items: { oneOf: OPTIONS },
      title,
      ...(help === undefined ? {} : { description: help }),
    },
    workflows: {
      type: 'array',
      items: { type: 'string' },
      title: words.scopeWorkflows,
      description: words.scopeWorkflowsHelp,
    },
  };
}

/** What was chosen, and a scope for each workflow. */
export function scopesIn({ scopes, workflows }: Record<string, unknown>): string[] {
  return [...textsIn(scopes), ...textsIn(workflows).map((id) => `workflow:${id}`)];
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
