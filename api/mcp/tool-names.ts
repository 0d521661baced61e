/**
 * Names of tools. The digits at the end, from the record's id, make them unique and keep them valid when the
 * record is renamed; the rest is for models and people to read. At most 64 characters.
 */
import type { ToolSource } from '../../domain/registry/tool-lists.ts';

const MAX_WORDS_LENGTH = 48;
const NAME = /-([aw])([0-9a-f]{12})$/;

export function toolName({ kind, id, name }: Pick<ToolSource, 'kind' | 'id' | 'name'>): string {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, MAX_WORDS_LENGTH)
    .replaceAll(/^_+|_+$/g, '');
  return `${words || kind}-${kind === 'agent' ? 'a' : 'w'}${id.slice(-12)}`;
}

/** Null for a name that no agent and no workflow can have. */
export function sourceOfName(name: string): { kind: ToolSource['kind']; digits: string } | null {
  const [, kind, digits] = NAME.exec(name) ?? [];
  return digits === undefined ? null : { kind: kind === 'a' ? 'agent' : 'workflow', digits };
}
