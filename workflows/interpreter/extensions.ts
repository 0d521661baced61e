/**
 * Extensions (dsl-reference.md "Extension"): tasks before and after what another task does. They wrap the
 * task's work, between its input and its output, and are listed with their own references, so the log and
 * everything that names a task shows what the author wrote (docs/adr/0034).
 */
import type { Definition, ExtensionTarget, Task as TaskDefinition } from '../../language/definition/model.ts';
import { KIND_FACTS, taskKindOf } from '../../language/definition/task-kind.ts';
import { pointer } from './pointer.ts';

type Extension = NonNullable<NonNullable<Definition['use']>['extensions']>[number][string];

export interface ListedExtension {
  ref: string;
  extension: Extension;
}

/** The extensions of a definition, in the order in which they are declared; the first one is outermost. */
export function extensionsIn(definition: Definition): ListedExtension[] {
  return (definition.use?.extensions ?? []).flatMap((item, index) =>
    Object.entries(item).map(([name, extension]) => ({
      ref: pointer('/use/extensions', index, name),
      extension,
    })),
  );
}

/** The extensions that are for a task of this kind. Tasks of an extension are not extended. */
export function extensionsOf(
  { extensions }: { extensions: readonly ListedExtension[] },
  definition: TaskDefinition,
  env: { extended?: unknown },
): ListedExtension[] {
  if (extensions.length === 0 || env.extended !== undefined) return [];
  const kind = taskKindOf(definition);
  if (kind === undefined) return [];
  const target: ExtensionTarget = KIND_FACTS[kind].extension;
  return extensions.filter(({ extension: { extend } }) => extend === 'all' || extend === target);
}
