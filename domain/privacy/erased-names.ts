/** What stands in place of an erased person's names. */
export const ERASED_NAME = 'Erased user';

/** Nobody can choose such a name: it has the id. */
export function erasedUsername(id: string): string {
  return `erased-${id}`;
}
