import { blocksOf, type Inline } from './markdown.ts';
import css from './formatted-text.module.css';

/** A text of a definition, with the small part of Markdown that `markdown.ts` reads. */
export function FormattedText({ text }: { text: string }) {
  return (
    <div class={css['text']}>
      {blocksOf(text).map((block, index) =>
        block.kind === 'list' ? (
          <ul key={index}>
            {block.entries.map((entry, position) => (
              <li key={position}>{entry.map(part)}</li>
            ))}
          </ul>
        ) : (
          <p key={index}>{block.parts.map(part)}</p>
        ),
      )}
    </div>
  );
}

function part(inline: Inline, index: number) {
  switch (inline.kind) {
    case 'strong':
      return <strong key={index}>{inline.text}</strong>;
    case 'em':
      return <em key={index}>{inline.text}</em>;
    case 'code':
      return <code key={index}>{inline.text}</code>;
    case 'link':
      return (
        <a key={index} href={inline.href} target="_blank" rel="noreferrer">
          {inline.text}
        </a>
      );
    case 'text':
      return inline.text;
  }
}
