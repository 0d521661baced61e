import { Document } from 'yaml';

/** YAML that `readYaml` reads as the same value: equal parts are written out, not as aliases. */
export function writeYaml(value: unknown): string {
  return new Document(value, { aliasDuplicateObjects: false }).toString({ lineWidth: 0 });
}
