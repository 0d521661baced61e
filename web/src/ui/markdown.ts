/**
 * A small part of Markdown for texts of tasks, as data: paragraphs, lists, bold, emphasis, code and links.
 * Everything else stays as it is written. No HTML is ever made from text.
 */

export type Inline =
  { kind: 'text' | 'strong' | 'em' | 'code'; text: string } | { kind: 'link'; text: string; href: string };
export type Block = { kind: 'paragraph'; parts: Inline[] } | { kind: 'list'; entries: Inline[][] };

export function blocksOf(text: string): Block[] {
  return text
    .replaceAll('\r\n', '\n')
    .split(/\n{2,}/)
    .filter((part) => part.trim() !== '')
    .map((part): Block => {
      const lines = part.split('\n');
      if (lines.every((line) => /^\s*[-*] /.test(line)))
        return { kind: 'list', entries: lines.map((line) => inlineOf(line.replace(/^\s*[-*] /, ''))) };
      return { kind: 'paragraph', parts: inlineOf(part) };
    });
}

/**
 * Each part ends where the next of its kind may begin: a label at `[`, an address at `](`. So each character
 * is looked at a few times, however long the text is.
 */
const MARK =
  /\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|`([^`\n]+)`|\[([^[\]\n]+)\]\((https?:\/\/(?:[^\s)\]]|\](?!\())+)\)/;

function inlineOf(text: string): Inline[] {
  const parts: Inline[] = [];
  let rest = text;
  for (let match = MARK.exec(rest); match !== null; match = MARK.exec(rest)) {
    const [all, strong, em, code, label, href] = match;
    if (match.index > 0) parts.push({ kind: 'text', text: rest.slice(0, match.index) });
    if (strong !== undefined) parts.push({ kind: 'strong', text: strong });
    else if (em !== undefined) parts.push({ kind: 'em', text: em });
    else if (code !== undefined) parts.push({ kind: 'code', text: code });
    else parts.push({ kind: 'link', text: label ?? '', href: href ?? '' });
    rest = rest.slice(match.index + all.length);
  }
  if (rest !== '') parts.push({ kind: 'text', text: rest });
  return parts;
}
