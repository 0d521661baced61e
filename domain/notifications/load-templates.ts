/** The operator's own texts of mails: `<name>.subject.txt`, `<name>.txt` and `<name>.html` in a folder. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import {
  checkTemplate,
  defaultTemplates,
  TEMPLATE_NAMES,
  type TemplateName,
  type Templates,
} from './templates.ts';
import type { Template } from './template.ts';

const PARTS = { 'subject.txt': 'subject', txt: 'text', html: 'html' } as const satisfies Record<
  string,
  keyof Template
>;
const MAX_BYTES = 64 * 1024;

/** Without a folder: the platform's own. @throws Error that names the file that is wrong */
export function loadTemplates(folder: string | undefined): Templates {
  const templates = defaultTemplates();
  if (folder === undefined) return templates;
  for (const file of readdirSync(folder)) {
    const { name, part } = readName(file);
    const path = join(folder, file);
    if (statSync(path).size > MAX_BYTES) throw new Error(`NOTIFY_TEMPLATES: ${file} is over 64 KiB`);
    const content = readFileSync(path, 'utf8');
    try {
      checkTemplate(content);
    } catch (error) {
      throw new Error(`NOTIFY_TEMPLATES: ${file}: ${String(error instanceof Error ? error.message : error)}`);
    }
    templates[name] = { ...templates[name], [part]: content };
  }
  return templates;
}

function readName(file: string): { name: TemplateName; part: keyof Template } {
  for (const name of TEMPLATE_NAMES)
    for (const [ending, part] of Object.entries(PARTS))
      if (file === `${name}.${ending}`) return { name, part };
  const names = TEMPLATE_NAMES.join(', ');
  throw new Error(
    `NOTIFY_TEMPLATES: ${file} is not <name>.subject.txt, <name>.txt or <name>.html; names: ${names}`,
  );
}
