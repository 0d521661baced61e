import { readYamlText } from '../../data/definition-text.ts';
import { useQuery } from '../../data/query.ts';

/** A revision as YAML. */
export function useText(id: string, revision: number) {
  return useQuery<string>({
    queryKey: ['yaml text', id, revision],
    // A revision never changes.
    staleTime: Infinity,
    queryFn: () => readYamlText(id, revision),
  });
}
